#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/atomics.h"
#include "tests/unit/support_elf.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define LDXR	     0x885f7c41u
#define STXR	     0x88037c41u
#define LDADDAL	     0xb8e00041u
#define CAS	     0x88a07c41u
#define RET	     0xd65f03c0u
#define NOP	     0xd503201fu
#define BTI_C	     0xd503245fu

/* A helper as libgcc has it: bti c, adrp x16, ldrb w16, cbz w16 to the pair, ldaddal, ret; the pair and its
 * loop. */
#define HELPER_WORDS                                                                                         \
	BTI_C, 0x90000010u, 0x39400210u, 0x34000070u, LDADDAL, RET, 0x2a0003f0u, 0x885ffc20u, 0x0b100011u,   \
		0x880ffc31u, 0x35ffffafu, RET

#define HELPER_COUNT 12

static char path[64];

static void make_path(void)
{
	strcpy(path, "/tmp/atomics-XXXXXX");
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	close(fd);
}

static void remove_path(void)
{
	unlink(path);
}

TestSuite(atomics, .init = make_path, .fini = remove_path);

/* The census of a file; false with the error. */
static bool take(const struct support_elf *file, struct atomics_census *census, struct error *error)
{
	support_elf_write(path, file);
	elf_version(EV_CURRENT);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool good = atomics_census(census, elf, NULL, true, path, error);
	elf_end(elf);
	close(fd);
	return good;
}

static struct atomics_census must_take(const struct support_elf *file)
{
	struct atomics_census census;
	struct error error = {0};
	cr_assert(take(file, &census, &error), "%s", error.text);
	return census;
}

static uint32_t branch(int from_word, int to_word)
{
	return 0x94000000u | ((uint32_t)(to_word - from_word) & 0x03ffffffu);
}

static void expect(const struct atomics_census *census, uint64_t lse, uint64_t exclusive, uint64_t calls,
		   enum atomics_verdict verdict)
{
	cr_expect_eq(atomics_lse(&census->all), lse, "LSE: %lu", atomics_lse(&census->all));
	cr_expect_eq(atomics_exclusive(&census->all), exclusive, "exclusive: %lu",
		     atomics_exclusive(&census->all));
	cr_expect_eq(census->all.outline_calls, calls, "calls: %lu", census->all.outline_calls);
	cr_expect_str_eq(atomics_verdict_name(census->verdict), atomics_verdict_name(verdict));
}

/* ---- verdicts ------------------------------------------------------------------------------------------ */

Test(atomics, verdict_by_what_is_there)
{
	const uint32_t nothing[] = {NOP, RET}, lse[] = {LDADDAL, CAS, RET}, pairs[] = {LDXR, STXR, RET},
		       both[] = {LDXR, STXR, CAS, RET};
	struct atomics_census census =
		must_take(&(struct support_elf){.words = nothing, .words_count = COUNT(nothing)});
	expect(&census, 0, 0, 0, ATOMICS_NONE);
	cr_expect_eq(census.code_bytes, 8);
	atomics_census_free(&census);
	census = must_take(&(struct support_elf){.words = lse, .words_count = COUNT(lse)});
	expect(&census, 2, 0, 0, ATOMICS_INLINE_LSE);
	cr_expect_eq(census.all.forms[ATOMIC_CAS], 1);
	cr_expect_eq(census.all.forms[ATOMIC_LD_OP], 1);
	atomics_census_free(&census);
	census = must_take(&(struct support_elf){.words = pairs, .words_count = COUNT(pairs)});
	expect(&census, 0, 2, 0, ATOMICS_NO_LSE);
	atomics_census_free(&census);
	census = must_take(&(struct support_elf){.words = both, .words_count = COUNT(both)});
	expect(&census, 1, 2, 0, ATOMICS_MIXED);
	atomics_census_free(&census);
}

/* ---- helpers ------------------------------------------------------------------------------------------- */

Test(atomics, helpers_without_symbols)
{
	const uint32_t words[] = {HELPER_WORDS, branch(12, 0), branch(13, 1), branch(14, 13), RET};
	struct atomics_census census =
		must_take(&(struct support_elf){.words = words, .words_count = COUNT(words)});
	/* A branch past the bti is none to the beginning. */
	expect(&census, 1, 2, 1, ATOMICS_OUTLINE);
	cr_expect_eq(census.helpers, 1);
	cr_expect_eq(atomics_lse(&census.in_helpers), 1);
	cr_expect_eq(atomics_exclusive(&census.in_helpers), 2);
	atomics_census_free(&census);
}

Test(atomics, helper_beside_inline_code_is_mixed)
{
	const uint32_t words[] = {HELPER_WORDS, branch(12, 0), LDXR, STXR, RET};
	struct atomics_census census =
		must_take(&(struct support_elf){.words = words, .words_count = COUNT(words)});
	expect(&census, 1, 4, 1, ATOMICS_MIXED);
	atomics_census_free(&census);
}

Test(atomics, almost_a_helper_is_none)
{
	/* Another register; no ret behind the LSE instruction; a branch backwards. */
	static const struct {
		size_t at;
		uint32_t word;
	} changes[] = {{1, 0x90000011u}, {5, NOP}, {3, 0x34ffff70u}, {2, 0x39400231u}};
	for (size_t i = 0; i < COUNT(changes); i++) {
		uint32_t words[] = {HELPER_WORDS, branch(12, 0)};
		words[changes[i].at] = changes[i].word;
		struct atomics_census census =
			must_take(&(struct support_elf){.words = words, .words_count = COUNT(words)});
		cr_expect_eq(census.helpers, 0, "change %zu", i);
		expect(&census, 1, 2, 0, ATOMICS_MIXED);
		atomics_census_free(&census);
	}
}

/* adrp x16, #0; add x16, x16, #0: SUPPORT_TEXT_ADDRESS, where the helper is. */
Test(atomics, through_a_veneer)
{
	const uint32_t words[] = {HELPER_WORDS, branch(12, 14), RET, 0x90000010u, 0x91000210u, 0xd61f0200u};
	struct atomics_census census =
		must_take(&(struct support_elf){.words = words, .words_count = COUNT(words)});
	expect(&census, 1, 2, 1, ATOMICS_OUTLINE);
	atomics_census_free(&census);
}

Test(atomics, relocatable_calls_by_name)
{
	const uint32_t words[] = {0x94000000u, 0x94000000u, 0x94000000u, 0x94000000u, RET};
	const char *const names[] = {"__aarch64_ldadd4_acq_rel", "__aarch64_cas16_relax", "malloc",
				     "__aarch64_have_lse_atomics"};
	const struct support_call calls[] = {{0, 0}, {4, 1}, {8, 2}, {12, 3}};
	struct atomics_census census = must_take(&(struct support_elf){.words = words,
								       .words_count = COUNT(words),
								       .relocatable = true,
								       .undefined = names,
								       .undefined_count = COUNT(names),
								       .calls = calls,
								       .calls_count = COUNT(calls)});
	expect(&census, 0, 0, 2, ATOMICS_OUTLINE);
	atomics_census_free(&census);
}

/* ---- data among code ----------------------------------------------------------------------------------- */

Test(atomics, data_by_mapping_symbols)
{
	const uint32_t words[] = {LDADDAL, RET, CAS, LDXR, CAS, RET};
	const struct support_symbol symbols[] = {
		{"$x", SUPPORT_TEXT_ADDRESS, 0, true},
		{"$d", SUPPORT_TEXT_ADDRESS + 8, 0, true},
		{"$x.1", SUPPORT_TEXT_ADDRESS + 16, 0, true},
	};
	struct atomics_census census = must_take(&(struct support_elf){.words = words,
								       .words_count = COUNT(words),
								       .symbols = symbols,
								       .symbols_count = COUNT(symbols)});
	expect(&census, 2, 0, 0, ATOMICS_INLINE_LSE);
	cr_expect_eq(census.data, ELFSCAN_DATA_SYMBOLS);
	cr_expect_eq(census.data_bytes, 8);
	cr_expect_eq(census.code_bytes, 16);
	cr_assert_eq(census.instructions_count, 2);
	cr_expect_eq(census.instructions[0].address, SUPPORT_TEXT_ADDRESS);
	cr_expect_eq(census.instructions[1].address, SUPPORT_TEXT_ADDRESS + 16);
	atomics_census_free(&census);
}

/* Data to the end of the section, as of a function that ends with its table. */
Test(atomics, data_to_the_end)
{
	const uint32_t words[] = {LDADDAL, RET, CAS, LDXR};
	const struct support_symbol symbols[] = {{"$d.realdata", SUPPORT_TEXT_ADDRESS + 8, 0, true}};
	struct atomics_census census = must_take(&(struct support_elf){.words = words,
								       .words_count = COUNT(words),
								       .symbols = symbols,
								       .symbols_count = COUNT(symbols)});
	expect(&census, 1, 0, 0, ATOMICS_INLINE_LSE);
	atomics_census_free(&census);
}

/* ldr x0, 12 words on; ldr q0, 14 words on; prfm, which loads nothing; ldr w0, outside. */
Test(atomics, literals_of_a_stripped_file)
{
	uint32_t words[20] = {0x58000180u, 0x9c0001a0u, 0xd8000100u, 0x187ffff0u, RET};
	words[10] = LDADDAL;				     /* what prfm names stays code */
	words[12] = words[13] = LDXR;			     /* 8 bytes */
	words[14] = words[15] = words[16] = words[17] = CAS; /* 16 bytes from word 14 on */
	words[18] = STXR;
	struct atomics_census census =
		must_take(&(struct support_elf){.words = words, .words_count = COUNT(words)});
	cr_expect_eq(census.data, ELFSCAN_DATA_LITERALS);
	cr_expect_eq(census.data_bytes, 24);
	expect(&census, 1, 1, 0, ATOMICS_MIXED);
	atomics_census_free(&census);
}

/* ---- places -------------------------------------------------------------------------------------------- */

Test(atomics, by_section_and_function)
{
	const uint32_t words[] = {LDADDAL, RET, CAS, CAS, RET, LDXR};
	const struct support_symbol symbols[] = {
		{"__first", SUPPORT_TEXT_ADDRESS, 8, false},
		{"first", SUPPORT_TEXT_ADDRESS, 8, false}, /* the name without underscores is the known one */
		{"second", SUPPORT_TEXT_ADDRESS + 8, 12, false},
	};
	struct atomics_census census = must_take(&(struct support_elf){.words = words,
								       .words_count = COUNT(words),
								       .symbols = symbols,
								       .symbols_count = COUNT(symbols)});
	cr_assert_eq(census.sections_count, 1);
	cr_expect_str_eq(census.sections[0].name, ".text");
	cr_expect_eq(atomics_lse(&census.sections[0].counts), 3);
	cr_assert_eq(census.functions_count, 3);
	cr_expect_str_eq(census.functions[0].name, "first");
	cr_expect_eq(atomics_lse(&census.functions[0].counts), 1);
	cr_expect_str_eq(census.functions[1].name, "second");
	cr_expect_eq(atomics_lse(&census.functions[1].counts), 2);
	cr_expect_null(census.functions[2].name, "beyond the end of a function");
	cr_expect_eq(atomics_exclusive(&census.functions[2].counts), 1);
	atomics_census_free(&census);
}

Test(atomics, without_section_headers)
{
	const uint32_t words[] = {LDADDAL, RET};
	struct atomics_census census = must_take(
		&(struct support_elf){.words = words, .words_count = COUNT(words), .no_sections = true});
	expect(&census, 1, 0, 0, ATOMICS_INLINE_LSE);
	cr_expect_str_eq(census.sections[0].name, "(segment)");
	cr_expect_eq(census.instructions[0].address, SUPPORT_TEXT_ADDRESS);
	atomics_census_free(&census);
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

Test(atomics, big_endian_is_refused)
{
	const uint32_t words[] = {LDADDAL};
	struct atomics_census census;
	struct error error = {0};
	cr_assert_not(take(&(struct support_elf){.words = words, .words_count = 1, .big_endian = true},
			   &census, &error));
	cr_expect_eq(error.code, ERROR_INPUT);
	cr_expect_not_null(strstr(error.text, "big-endian"), "%s", error.text);
	atomics_census_free(&census);
}

Test(atomics, code_of_another_machine_is_not_read)
{
	const uint32_t words[] = {LDADDAL, LDXR};
	struct atomics_census census =
		must_take(&(struct support_elf){.words = words, .words_count = 2, .machine = EM_X86_64});
	cr_expect_not(census.aarch64);
	cr_expect_str_eq(census.machine, "x86-64");
	expect(&census, 0, 0, 0, ATOMICS_NONE);
	atomics_census_free(&census);
}

/* Cut at every length: an error or a census, never more than is there. */
Test(atomics, cut_off_anywhere)
{
	const uint32_t words[] = {HELPER_WORDS, branch(12, 0), LDADDAL, RET};
	const struct support_symbol symbols[] = {{"$x", SUPPORT_TEXT_ADDRESS, 0, true},
						 {"function", SUPPORT_TEXT_ADDRESS + 48, 12, false}};
	support_elf_write(path, &(struct support_elf){.words = words,
						      .words_count = COUNT(words),
						      .symbols = symbols,
						      .symbols_count = 2});
	int fd = open(path, O_RDWR | O_CLOEXEC);
	for (off_t length = lseek(fd, 0, SEEK_END); length > 0; length--) {
		cr_assert_eq(ftruncate(fd, length), 0);
		struct atomics_census census;
		struct error error = {0};
		elf_version(EV_CURRENT);
		Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
		if (atomics_census(&census, elf, NULL, true, path, &error))
			cr_expect_leq(atomics_lse(&census.all), 2);
		else
			cr_expect_eq(error.code, ERROR_INPUT);
		atomics_census_free(&census);
		elf_end(elf);
	}
	close(fd);
}
