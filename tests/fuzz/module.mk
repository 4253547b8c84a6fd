# Fuzz targets: tests/fuzz/fuzz_X.c is one property of one reader. Everything under them is compiled again by clang,
# with libFuzzer's coverage and the address and undefined behaviour sanitizers.
FUZZ_CC    ?= clang
fuzz_flags := -I. -D_GNU_SOURCE -MMD -MP -std=gnu17 -O1 -g -fno-omit-frame-pointer $(WARNINGS) $(BSON_CPPFLAGS) \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined
fuzz_modules := $(patsubst %.c,$(BUILD)/fuzz/objects/%.o,$(filter-out analyzer/main.c,$(analyzer_sources)) $(trace_sources))
fuzz_targets := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

$(BUILD)/fuzz/objects/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer -c -o $@ $<
$(BUILD)/fuzz/objects/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer-no-link -c -o $@ $<
$(BUILD)/fuzz/libmodules.a: $(fuzz_modules)
	rm -f $@ && ar rcs $@ $^
$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/objects/tests/fuzz/fuzz_%.o $(BUILD)/fuzz/libmodules.a
	$(FUZZ_CC) $(fuzz_flags) -fsanitize=fuzzer -o $@ $^ $(ANALYZER_LIBS)

.SECONDARY: $(fuzz_modules) $(fuzz_targets:$(BUILD)/fuzz/%=$(BUILD)/fuzz/objects/tests/fuzz/%.o)
.PHONY: fuzz
fuzz: $(fuzz_targets) ## fuzz the readers, FUZZ_SECONDS=60 each
	tests/fuzz/run_fuzz.sh
