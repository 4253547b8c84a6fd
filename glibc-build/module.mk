# A glibc of one's own, and running programs under it; included by the Makefile.
.PHONY: glibc test-glibc test-glibc-arms
glibc: $(BUILD)/mtrace-analyze ## a glibc to run programs under: VARIANT=lse|nolse|outline|native
	glibc-build/build.sh $(VARIANT)

test-glibc: $(BUILD)/mtrace-analyze $(BUILD)/libmtrace.so $(BUILD)/ycsb-embedded ## a workload under a self-built glibc
	scripts/test_glibc.sh

test-glibc-arms: $(BUILD)/mtrace-analyze ## glibc with and without LSE: three cross-builds, and a workload under each (an hour)
	scripts/test_glibc.sh --arms
