# libmtrace.so. It is linked against stub libraries that hold only the symbols of shim/abi/symbols.txt in versions that glibc
# 2.28 has: whatever is newer does not link. zstd goes in as an archive, with its symbols hidden by exports.map.
# A flag that only one of the compilers knows.
accepted = $(shell $(CC) -Werror $(1) -x c -c -o /dev/null /dev/null 2>/dev/null && echo $(1))

SHIM_CFLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-plt -fno-stack-protector -U_FORTIFY_SOURCE \
	$(call accepted,-fno-reorder-blocks-and-partition) -Ishim/arch/$(ARCH)
shim_objects := $(patsubst %.c,$(BUILD)/pic/%.o,$(shim_sources) $(trace_sources)) \
	$(BUILD)/pic/shim/patched_malloc.o $(BUILD)/pic/shim/patched_new.o
shim_stubs   := $(BUILD)/abi/stamp
ZSTD_ARCHIVE ?= $(shell $(CC) -print-file-name=libzstd.a)

$(BUILD)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(compile) $(SHIM_CFLAGS) -c -o $@ $<

# The allocator's hooks once more, for patched entries (shim/hookset.h).
$(BUILD)/pic/shim/patched_%.o: shim/interpose_%.c
	@mkdir -p $(@D)
	$(compile) $(SHIM_CFLAGS) -DMTRACE_PATCHED_SET -c -o $@ $<

# What only one processor's objects and linker know. On aarch64 the stack protector of zstd's objects reads its guard from
# the dynamic loader.
ifeq ($(ARCH),x86_64)
shim_arch_link := -Wl,-z,nodynamic-undefined-weak
else
shim_arch_link := $(BUILD)/abi/ld-linux-aarch64.so.1
endif

# The decoder is opened at run time, by the name that the headers' own library has (libZydis.so.4.0).
ifeq ($(ARCH),x86_64)
zydis_library := $(realpath $(shell $(CC) -print-file-name=libZydis.so))
zydis_soname  := $(shell objdump -p $(zydis_library) 2>/dev/null | awk '$$1 == "SONAME" { print $$2 }')
SHIM_CFLAGS += -DZYDIS_SONAME='"$(zydis_soname)"' -DZYDIS_API=$(word 3,$(subst ., ,$(zydis_soname)))
endif

$(shim_stubs): shim/abi/symbols.txt scripts/abi_stubs.sh
	scripts/abi_stubs.sh $(ARCH) $(BUILD)/abi "$(CC)" < shim/abi/symbols.txt
	@touch $@

$(BUILD)/libmtrace.so: $(shim_objects) shim/exports.map $(shim_stubs)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -nodefaultlibs -o $@ $(shim_objects) $(ZSTD_ARCHIVE) \
		-Wl,--version-script=shim/exports.map -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,-z,now -Wl,-z,relro \
		-Wl,--no-as-needed $(shim_arch_link) $(BUILD)/abi/libc.so.6 $(BUILD)/abi/libpthread.so.0 $(BUILD)/abi/libdl.so.2 \
		-lgcc
