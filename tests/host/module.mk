# Link flags of single guests, and guests that are built twice; included by tests/module.mk.
host_origin := -L$(BUILD)/host -Wl,-rpath,'$$ORIGIN'

HOST_LIBS_early      := -Wl,-z,lazy $(host_origin) -learly
HOST_LIBS_dlsymalloc := -O2 -rdynamic
HOST_LIBS_sigsafe    := $(host_origin) -lsafemalloc
HOST_LIBS_cdl        := -Wl,-rpath,'$$ORIGIN' -Wl,--disable-new-dtags
HOST_LIBS_dlloop     := -Wl,-rpath,'$$ORIGIN' -Wl,--disable-new-dtags
HOST_LIBS_ownmalloc  := -rdynamic
HOST_LIBS_cxxreplaced := -rdynamic

$(BUILD)/host/early: $(BUILD)/host/libearly.so
$(BUILD)/host/sigsafe: $(BUILD)/host/libsafemalloc.so
$(host_guests) $(host_libs): tests/host/guest.h

# early.c bound at once: relocation then meets its IFUNC resolvers with every call already resolved.
$(BUILD)/host/libearlynow.so: tests/host/libearly.c tests/host/guest.h
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) -fPIC -shared -pthread -Wl,-z,now -o $@ $<
$(BUILD)/host/earlynow: tests/host/early.c $(BUILD)/host/libearlynow.so
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) -pthread -Wl,-z,now -o $@ $< $(host_origin) -learlynow

host_guests += $(BUILD)/host/earlynow
