# Unit tests: tests/unit/test_X.c is one Criterion program over the modules of the analyzer, trace/, bench/ and
# the shim.
unit_sources  := $(wildcard tests/unit/test_*.c tests/unit/arch/$(ARCH)/test_*.c)
unit_programs := $(patsubst %.c,$(BUILD)/tests/unit/%,$(notdir $(unit_sources)))
unit_support  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/support_shim.c,$(wildcard tests/unit/support_*.c)))

# Modules of the shim that have unit tests, as they are in libmtrace.so, and the tests' stand-ins for what these call.
UNIT_SHIM_TESTS   := patch_site shim_pages mapsnap ring_growth config config_path free_stack ring ring_file ring_slots sampling stacks
unit_shim_modules := arch/$(ARCH)/patch_site clock config diag hugepages lines maps mapsnap own pageblock program ring ring_file ring_slots sampling stacks tcmalloc_text text
UNIT_SHIM_OBJECTS := $(BUILD)/libshimmodules.a
$(UNIT_SHIM_OBJECTS): $(unit_shim_modules:%=$(BUILD)/pic/shim/%.o) $(BUILD)/tests/unit/support_shim.o
	rm -f $@ && ar rcs $@ $^
$(BUILD)/tests/unit/support_shim.o $(UNIT_SHIM_TESTS:%=$(BUILD)/tests/unit/test_%.o): CPPFLAGS += -Ishim/arch/$(ARCH)

$(BUILD)/tests/unit/test_%.o: tests/unit/arch/$(ARCH)/test_%.c
	@mkdir -p $(@D)
	$(compile) -c -o $@ $<

$(BUILD)/libmodules.a: $(filter-out $(BUILD)/analyzer/main.o,$(analyzer_objects)) $(filter-out $(BUILD)/bench/engine_%.o,$(bench_objects))
	rm -f $@ && ar rcs $@ $^

$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(unit_support) $(UNIT_SHIM_OBJECTS) $(BUILD)/libmodules.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lcriterion $(ANALYZER_LIBS)

# Programs that time parts of the analyzer; they make their own input. Timings are no tests.
trace_support  := $(patsubst %,$(BUILD)/tests/unit/support_%.o,trace rings files)
bench_programs := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/*.c))
$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(trace_support) $(BUILD)/libmodules.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)
.PHONY: bench-programs
bench-programs: $(bench_programs) ## build tests/bench: decoder, YCSB output, diagnostic data, ...

# Host tests: guests that run with and without the shim. lib*.c become shared objects, *.cc C++ programs.
host_guests := $(patsubst tests/host/%.c,$(BUILD)/host/%,$(filter-out tests/host/lib%.c,$(wildcard tests/host/*.c))) \
	$(patsubst tests/host/%.cc,$(BUILD)/host/%,$(filter-out tests/host/lib%.cc,$(wildcard tests/host/*.cc)))
host_libs   := $(patsubst tests/host/%.c,$(BUILD)/host/%.so,$(wildcard tests/host/lib*.c)) \
	$(patsubst tests/host/%.cc,$(BUILD)/host/%.so,$(wildcard tests/host/lib*.cc))
include tests/host/module.mk
include tests/host/standin.mk

$(BUILD)/host/%: tests/host/%.c
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) -pthread -o $@ $< $(HOST_LIBS_$*) -ldl
$(BUILD)/host/%: tests/host/%.cc
	@mkdir -p $(@D)
	$(CXX) -I. -D_GNU_SOURCE -std=c++17 -O1 -g -fno-builtin -Wall -Wextra -pthread -o $@ $< $(HOST_LIBS_$*) -ldl
$(BUILD)/host/lib%.so: tests/host/lib%.c
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) -fPIC -shared -pthread -o $@ $<
$(BUILD)/host/lib%.so: tests/host/lib%.cc
	@mkdir -p $(@D)
	$(CXX) -I. -D_GNU_SOURCE -std=c++17 -O1 -g -fno-builtin -Wall -Wextra -fPIC -shared -pthread -o $@ $<

.PHONY: tests unit host
tests: unit host ## build all test programs
unit: $(unit_programs)
host: $(host_libs) $(host_guests)
include tests/fuzz/module.mk
