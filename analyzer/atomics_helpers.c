#include "analyzer/atomics_helpers.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/atomics_word.h"

#define BTI_C	   0xd503245fu
#define RET	   0xd65f03c0u
#define BR_X16	   0xd61f0200u
#define X16	   16u
#define BODY_WORDS 32 /* the longest helper has 12 */

/* ---- single instructions (DDI 0487, C6.2) -------------------------------------------------------------- */

static bool is_adrp_x16(uint32_t word)
{
	return (word & 0x9f00001f) == (0x90000000 | X16);
}

static bool is_ldrb_w16_x16(uint32_t word)
{
	return (word & 0xffc003ff) == (0x39400000 | X16 << 5 | X16);
}

static bool is_cbz_w16(uint32_t word)
{
	return (word & 0xff00001f) == (0x34000000 | X16);
}

static bool is_add_x16_x16(uint32_t word)
{
	return (word & 0xffc003ff) == (0x91000000 | X16 << 5 | X16);
}

static bool is_branch(uint32_t word)
{
	return (word & 0x7c000000) == 0x14000000;
}

static uint64_t branch_target(uint64_t address, uint32_t word)
{
	return address + (uint64_t)(((int32_t)(word << 6) >> 6) * INT64_C(4));
}

static uint64_t cbz_target(uint64_t address, uint32_t word)
{
	return address + (uint64_t)(((int32_t)(word << 8) >> 13) * INT64_C(4));
}

static uint64_t adrp_page(uint64_t address, uint32_t word)
{
	int64_t pages = (int32_t)((word << 8) >> 13 << 13) >> 11 | (int32_t)(word >> 29 & 3);
	return (address & ~UINT64_C(0xfff)) + (uint64_t)(pages * 4096);
}

/* ---- finding ------------------------------------------------------------------------------------------- */

static bool is_lse(uint32_t word)
{
	switch (atomics_form(word)) {
	case ATOMIC_CAS:
	case ATOMIC_CASP:
	case ATOMIC_SWP:
	case ATOMIC_LD_OP:
	case ATOMIC_ST_OP:
	case ATOMIC_LSE128:
		return true;
	default:
		return false;
	}
}

/* Behind the ret at or after `from`; 0 where it does not come soon. */
static uint64_t behind_ret(const struct elfscan_section *section, uint64_t from)
{
	for (uint64_t at = from; at < from + BODY_WORDS * 4 && elfscan_holds(section, at); at += 4)
		if (elfscan_word(section, at) == RET)
			return at + 4;
	return 0;
}

/* The end of the helper whose adrp is at `at`; 0 where there is none. */
static uint64_t helper_end(const struct elfscan_section *section, uint64_t at)
{
	if (!is_adrp_x16(elfscan_word(section, at)) || !elfscan_holds(section, at + 16) ||
	    !is_ldrb_w16_x16(elfscan_word(section, at + 4)))
		return 0;
	uint32_t choice = elfscan_word(section, at + 8);
	uint64_t pair = cbz_target(at + 8, choice);
	if (!is_cbz_w16(choice) || pair <= at + 12 || pair > at + BODY_WORDS * 4 ||
	    !is_lse(elfscan_word(section, at + 12)) || elfscan_word(section, at + 16) != RET)
		return 0;
	return behind_ret(section, pair);
}

bool atomics_helpers_find(struct atomics_helpers *helpers, const struct elfscan_section *section)
{
	for (uint64_t at = (section->address + 3) & ~UINT64_C(3); elfscan_holds(section, at); at += 4) {
		uint64_t end = helper_end(section, at);
		if (!end)
			continue;
		bool guarded = at - section->address >= 4 && elfscan_word(section, at - 4) == BTI_C;
		if (!array_reserve(&helpers->spans, &helpers->capacity, helpers->count + 1,
				   sizeof *helpers->spans))
			return false;
		helpers->spans[helpers->count++] = (struct elfscan_span){guarded ? at - 4 : at, end};
	}
	return true;
}

static int by_start(const void *one, const void *other)
{
	const struct elfscan_span *a = one, *b = other;
	return a->start < b->start ? -1 : a->start > b->start;
}

void atomics_helpers_sort(struct atomics_helpers *helpers)
{
	if (helpers->count)
		qsort(helpers->spans, helpers->count, sizeof *helpers->spans, by_start);
}

const struct elfscan_span *atomics_helper_at(const struct atomics_helpers *helpers, uint64_t address)
{
	size_t low = 0, high = helpers->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (helpers->spans[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < helpers->count && helpers->spans[low].start <= address ? &helpers->spans[low] : NULL;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

bool atomics_helper_name(const char *name)
{
	static const char *const operations[] = {"cas", "swp", "ldadd", "ldclr", "ldeor", "ldset"};
	if (strncmp(name, "__aarch64_", 10) != 0)
		return false;
	name += 10;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
		size_t length = strlen(operations[i]);
		if (strncmp(name, operations[i], length) == 0 && name[length] >= '1' && name[length] <= '9')
			return true;
	}
	return false;
}

/* Beyond the reach of a branch the linker puts a veneer between: adrp x16, add x16, br x16. */
static uint64_t through_veneer(const struct elfscan *scan, uint64_t target)
{
	for (size_t i = 0; i < scan->count; i++) {
		const struct elfscan_section *section = &scan->sections[i];
		if (!elfscan_holds(section, target) || !elfscan_holds(section, target + 8))
			continue;
		uint32_t page = elfscan_word(section, target), low = elfscan_word(section, target + 4);
		if (is_adrp_x16(page) && is_add_x16_x16(low) && elfscan_word(section, target + 8) == BR_X16)
			return adrp_page(target, page) + (low >> 10 & 0xfff);
	}
	return target;
}

static bool starts_helper(const struct atomics_helpers *helpers, uint64_t address)
{
	const struct elfscan_span *helper = atomics_helper_at(helpers, address);
	return helper && helper->start == address;
}

static bool calls_by_name(const struct elfscan_section *section, uint64_t address)
{
	size_t low = 0, high = section->calls_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (section->calls[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < section->calls_count && section->calls[low].address == address &&
	       atomics_helper_name(section->calls[low].name);
}

bool atomics_calls_helper(const struct atomics_helpers *helpers, const struct elfscan *scan,
			  const struct elfscan_section *section, uint64_t address)
{
	uint32_t word = elfscan_word(section, address);
	if (!is_branch(word))
		return false;
	if (scan->relocatable)
		return calls_by_name(section, address);
	if (!helpers->count)
		return false;
	uint64_t target = branch_target(address, word);
	return starts_helper(helpers, target) || starts_helper(helpers, through_veneer(scan, target));
}
