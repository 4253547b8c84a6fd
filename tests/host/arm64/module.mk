# An allocator with awkward entry points, for aarch64: entries, not as a PIE, and with guarded pages (its own start code:
# the usual start files are not marked). Included by tests/host/module.mk.
arm64_sources := $(addprefix tests/host/arm64/,entries.S entries.c allocator.c)
arm64_entries := $(BUILD)/host/entries $(BUILD)/host/entries-fixed $(BUILD)/host/entries-guarded
host_guests   += $(arm64_entries)

$(BUILD)/host/entries-fixed: ARM64_FLAGS := -fno-pie -no-pie
$(BUILD)/host/entries-guarded: ARM64_FLAGS := -mbranch-protection=standard -nostartfiles -Wl,-z,force-bti,--no-warnings
$(arm64_entries): $(arm64_sources) tests/host/arm64/allocator.h tests/host/guest.h
	@mkdir -p $(@D)
	$(CC) -I. -D_GNU_SOURCE -std=gnu17 -O1 -g -fno-builtin $(WARNINGS) $(ARM64_FLAGS) -pthread -rdynamic -o $@ $(arm64_sources)
