# Link flags of single guests, and guests that are built twice; included by tests/module.mk.
host_origin := -L$(BUILD)/host -Wl,-rpath,'$$ORIGIN'

HOST_LIBS_early      := -Wl,-z,lazy $(host_origin) -learly
HOST_LIBS_dlsymalloc := -O2 -rdynamic
HOST_LIBS_sigsafe    := $(host_origin) -lsafemalloc
HOST_LIBS_cdl        := -Wl,-rpath,'$$ORIGIN' -Wl,--disable-new-dtags
HOST_LIBS_dlloop     := -Wl,-rpath,'$$ORIGIN' -Wl,--disable-new-dtags
HOST_LIBS_ownmalloc  := -rdynamic
HOST_LIBS_patchonefile := -O2 -rdynamic
HOST_LIBS_tcstats    := -rdynamic
HOST_LIBS_rseqowner  := -rdynamic
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

ifeq ($(ARCH),aarch64)
include tests/host/arm64/module.mk
endif

# tcstats.c with some of google/tcmalloc's functions missing, and with gperftools'.
tcstats_variants := $(BUILD)/host/tcstats-part $(BUILD)/host/tcstats-gperftools
$(BUILD)/host/tcstats-part: TCSTATS := -DTCSTATS_PART
$(BUILD)/host/tcstats-gperftools: TCSTATS := -DTCSTATS_GPERFTOOLS
$(tcstats_variants): tests/host/tcstats.c tests/host/guest.h
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) $(TCSTATS) -pthread -rdynamic -o $@ $< -ldl
host_guests += $(tcstats_variants)

# ---- programs that carry their own allocator -------------------------------------------------------------------------
# Guests once more, linked with the distribution's static allocators: $(BUILD)/host/static/<allocator>-<kind>/<guest>, kind
# exported (PIE, -rdynamic, -z now, as mongod), pie, fixed (not a PIE), alone (libstdc++ inside, so that operators are in
# .symtab only). An allocator without an archive is left out.
static_guests := abi counted cxx cxxcount exits threads vmcalls
static_kinds  := exported pie fixed alone
STATIC_COMPILE_exported := -fPIE
STATIC_COMPILE_pie      := -fPIE
STATIC_COMPILE_fixed    := -fno-pie
STATIC_COMPILE_alone    := -fPIE
STATIC_LINK_exported := -pie -rdynamic -Wl,-z,now
STATIC_LINK_pie      := -pie
STATIC_LINK_fixed    := -no-pie
STATIC_LINK_alone    := -pie -static-libstdc++ -static-libgcc

archive_of = $(filter /%,$(shell $(CC) -print-file-name=$(1)))
STATIC_ARCHIVE_tcmalloc := $(call archive_of,libtcmalloc_minimal.a)
STATIC_ARCHIVE_jemalloc := $(call archive_of,libjemalloc.a)
STATIC_ARCHIVE_mimalloc := $(call archive_of,libmimalloc.a)
static_allocators := $(foreach a,tcmalloc jemalloc mimalloc,$(if $(STATIC_ARCHIVE_$(a)),$(a)))

define static_objects # KIND
$(BUILD)/host/static/$(1)/%.o: tests/host/%.c tests/host/guest.h
	@mkdir -p $$(@D)
	$$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $$(WARNINGS) $(STATIC_COMPILE_$(1)) -c -o $$@ $$<
$(BUILD)/host/static/$(1)/%.o: tests/host/%.cc tests/host/guest.h
	@mkdir -p $$(@D)
	$$(CXX) -I. -D_GNU_SOURCE -std=c++17 -O1 -g -fno-builtin -Wall -Wextra $(STATIC_COMPILE_$(1)) -c -o $$@ $$<
endef
define static_programs # KIND ALLOCATOR
$(BUILD)/host/static/$(2)-$(1)/%: $(BUILD)/host/static/$(1)/%.o $(STATIC_ARCHIVE_$(2))
	@mkdir -p $$(@D)
	$$(CXX) $$(LDFLAGS) $(STATIC_LINK_$(1)) -pthread -o $$@ $$< -Wl,--whole-archive $(STATIC_ARCHIVE_$(2)) -Wl,--no-whole-archive -ldl
endef
$(foreach kind,$(static_kinds),$(eval $(call static_objects,$(kind))))
$(foreach kind,$(static_kinds),$(foreach a,$(static_allocators),$(eval $(call static_programs,$(kind),$(a)))))
host_guests += $(foreach kind,$(filter-out alone,$(static_kinds)),$(foreach a,$(static_allocators),$(static_guests:%=$(BUILD)/host/static/$(a)-$(kind)/%))) \
	$(foreach a,$(static_allocators),$(BUILD)/host/static/$(a)-alone/cxx $(BUILD)/host/static/$(a)-alone/cxxcount)
.SECONDARY: $(foreach kind,$(static_kinds),$(static_guests:%=$(BUILD)/host/static/$(kind)/%.o))

# gperftools' archive, whose calls of its central lists are counted.
central_calls := _ZN8tcmalloc15CentralFreeList11RemoveRangeEPPvS2_i _ZN8tcmalloc15CentralFreeList11InsertRangeEPvS1_i
$(BUILD)/host/percpu/centralcount: tests/host/percpu/centralcount.c tests/host/guest.h
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) $(LDFLAGS) -pie -fPIE -rdynamic -pthread -o $@ $< \
		$(central_calls:%=-Wl,--wrap=%) -Wl,--whole-archive $(STATIC_ARCHIVE_tcmalloc) -Wl,--no-whole-archive -lstdc++ -lm
host_guests += $(if $(STATIC_ARCHIVE_tcmalloc),$(BUILD)/host/percpu/centralcount)

# Entry points written in assembler, one program a variant: $(BUILD)/host/patch/<variant>.
patch_asm := tests/host/patch/entry_$(ARCH).S
patch_variants := $(shell sed -n 's/.*defined VARIANT_//p' $(patch_asm) 2>/dev/null)
$(BUILD)/host/patch/%: tests/host/patch/entry.c $(patch_asm) tests/host/patch/entry.h tests/host/guest.h
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) $(LDFLAGS) -pie -fPIE -rdynamic -Wl,-z,now -DVARIANT_$* -o $@ $< $(patch_asm)
host_guests += $(patch_variants:%=$(BUILD)/host/patch/%)
patch_c      := $(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) $(LDFLAGS)
patch_entry  := tests/host/patch/entry.c
patch_libs    = -L$(@D) -Wl,-rpath,'$$ORIGIN' -Wl,--no-as-needed
patch_prefix := malloc free calloc realloc posix_memalign malloc_usable_size
patch_folder := $(BUILD)/host/patch
$(patch_folder)/hidden $(patch_folder)/prefixed $(patch_folder)/namesakes $(patch_folder)/before $(patch_folder)/threaded: tests/host/patch/entry.h tests/host/guest.h

# Its allocator is in .symtab only, and libc has its own.
$(patch_folder)/hidden: $(patch_entry)
	@mkdir -p $(@D)
	$(patch_c) -pie -fPIE -fvisibility=hidden -DHAS_STATIC_NAME -o $@ $<
$(patch_folder)/prefixed $(patch_folder)/namesakes: $(patch_entry)
	@mkdir -p $(@D)
	$(patch_c) -pie -fPIE -rdynamic $(foreach f,$(patch_prefix),-D$(f)=je_$(f)) $(if $(filter %prefixed,$@),-DHAS_MALLCTL) -o $@ $<
$(patch_folder)/before: $(patch_entry) $(patch_folder)/libearlyblocks.so
	$(patch_c) -pie -fPIE -rdynamic -DHAS_EARLY_BLOCKS -o $@ $< $(patch_libs) -learlyblocks
$(patch_folder)/threaded: $(patch_entry) $(patch_folder)/libearlythread.so
	$(patch_c) -pie -fPIE -rdynamic -o $@ $< $(patch_libs) -learlythread
$(patch_folder)/symbolic: tests/host/patch/symbolic.c $(patch_folder)/libsymbolic.so tests/host/guest.h
	$(patch_c) -pie -fPIE -o $@ $< $(patch_libs) -lsymbolic
$(patch_folder)/libsymbolic.so: tests/host/patch/libsymbolic.c tests/host/guest.h
	@mkdir -p $(@D)
	$(patch_c) -fPIC -shared -Wl,-Bsymbolic -o $@ $<
$(patch_folder)/lib%.so: tests/host/patch/lib%.c tests/host/guest.h
	@mkdir -p $(@D)
	$(patch_c) -fPIC -shared -pthread -o $@ $< -ldl
host_guests += $(patch_folder)/hidden $(patch_folder)/prefixed $(patch_folder)/namesakes $(patch_folder)/before $(patch_folder)/threaded $(patch_folder)/symbolic

ifneq ($(patch_variants),)
# The text of the first moves to other memory before a preloaded object's constructor runs.
$(patch_folder)/moved: $(patch_entry) $(patch_asm) $(patch_folder)/librelocatetext.so
	$(patch_c) -pie -fPIE -rdynamic -Wl,-z,now -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code -DVARIANT_lea -o $@ $< $(patch_asm) \
		$(patch_libs) -lrelocatetext
$(patch_folder)/throwing: tests/host/patch/throwing.cc tests/host/patch/throwing_$(ARCH).S tests/host/guest.h
	@mkdir -p $(@D)
	$(CXX) -I. -D_GNU_SOURCE -std=c++17 -O1 -g -fno-builtin -Wall -Wextra $(LDFLAGS) -pie -fPIE -rdynamic -o $@ $< $(word 2,$^)
host_guests += $(patch_folder)/moved $(patch_folder)/throwing
endif

# Locks: libatomic, where it can be linked, by the program and by a library that is opened later.
$(BUILD)/host/locks $(BUILD)/host/lockhazards $(BUILD)/host/lockmany $(BUILD)/host/lockcxx $(BUILD)/host/lockatomic: tests/host/lockguest.h
HOST_LIBS_lockatomic := -latomic
has_libatomic := $(shell echo 'int main(void) { return 0; }' | $(CC) $(LDFLAGS) -x c -o /dev/null - -latomic 2>/dev/null && echo 1)
ifneq ($(has_libatomic),1)
host_guests := $(filter-out %/lockatomic,$(host_guests))
else
$(BUILD)/host/liblateatomic.so: tests/host/lockatomic.c tests/host/lockguest.h tests/host/guest.h
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) $(LDFLAGS) -DLATE -fPIC -shared -pthread -o $@ $< -latomic
$(BUILD)/host/lockatomic: $(BUILD)/host/liblateatomic.so
endif
