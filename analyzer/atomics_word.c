#include "analyzer/atomics_word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct pattern {
	uint32_t mask;
	uint32_t value;
	enum atomic_form form;
};

/* The first that fits counts. */
static const struct pattern patterns[] = {
	{0x3f208c00, 0x38200000, ATOMIC_LD_OP},
	{0x3f20fc00, 0x38208000, ATOMIC_SWP},
	{0x3fa07c00, 0x08a07c00, ATOMIC_CAS},
	{0xbfa17c01, 0x08207c00, ATOMIC_CASP}, /* its registers come in pairs: the first is even */
	{0xbfa00000, 0x08200000, ATOMIC_NONE}, /* the rest beside CASP is unallocated */
	{0x3fc00000, 0x08400000, ATOMIC_LOAD_EXCLUSIVE},
	{0x3fc00000, 0x08000000, ATOMIC_STORE_EXCLUSIVE},
	{0xff20fc00, 0x19201000, ATOMIC_LSE128}, /* LDCLRP */
	{0xff20fc00, 0x19203000, ATOMIC_LSE128}, /* LDSETP */
	{0xff20fc00, 0x19208000, ATOMIC_LSE128}, /* SWPP */
	{0xbfe0ec00, 0x99000800, ATOMIC_LRCPC3}, /* STILP */
	{0xbfe0ec00, 0x99400800, ATOMIC_LRCPC3}, /* LDIAPP */
	{0xbffffc00, 0x99800800, ATOMIC_LRCPC3}, /* STLR, pre-indexed */
	{0xbffffc00, 0x99c00800, ATOMIC_LRCPC3}, /* LDAPR, post-indexed */
	{0xbffffc00, 0x0d018400, ATOMIC_LRCPC3}, /* STL1 */
	{0xbffffc00, 0x0d418400, ATOMIC_LRCPC3}, /* LDAP1 */
	{0x3f200c00, 0x1d000800, ATOMIC_LRCPC3}, /* STLUR and LDAPUR of vector registers */
};

/* The zero register for the result, and no acquire. */
static bool drops_result(uint32_t word)
{
	return (word & 0x1f) == 0x1f && !(word >> 23 & 1);
}

enum atomic_form atomics_form(uint32_t word)
{
	/* Bits 27 and 25 tell loads and stores from most other code, at the price of one compare. */
	if ((word & 0x0a000000) != 0x08000000)
		return ATOMIC_NONE;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		if ((word & patterns[i].mask) != patterns[i].value)
			continue;
		bool store = patterns[i].form == ATOMIC_LD_OP && drops_result(word);
		return store ? ATOMIC_ST_OP : patterns[i].form;
	}
	return ATOMIC_NONE;
}

/* ---- names --------------------------------------------------------------------------------------------- */

/* Bits 31 and 30: bytes, halfwords, words, doublewords. */
static const char *size_suffix(uint32_t word)
{
	static const char *const suffixes[] = {"b", "h", "", ""};
	return suffixes[word >> 30];
}

static const char *order_suffix(bool acquire, bool release)
{
	return acquire ? (release ? "al" : "a") : (release ? "l" : "");
}

static void name_operation(uint32_t word, bool store, char *text)
{
	static const char *const operations[] = {"add", "clr", "eor", "set", "smax", "smin", "umax", "umin"};
	snprintf(text, ATOMICS_MNEMONIC_BYTES, "%s%s%s%s", store ? "st" : "ld", operations[word >> 12 & 7],
		 order_suffix(word >> 23 & 1, word >> 22 & 1), size_suffix(word));
}

static void name_exclusive(uint32_t word, bool load, char *text)
{
	bool pair = word >> 21 & 1;
	bool ordered = word >> 15 & 1;
	snprintf(text, ATOMICS_MNEMONIC_BYTES, "%sx%s%s",
		 load ? (ordered ? "lda" : "ld") : (ordered ? "stl" : "st"), pair ? "p" : "r",
		 pair ? "" : size_suffix(word));
}

static void name_lse128(uint32_t word, char *text)
{
	unsigned operation = word >> 12 & 15;
	snprintf(text, ATOMICS_MNEMONIC_BYTES, "%s%s",
		 operation == 8	  ? "swpp"
		 : operation == 1 ? "ldclrp"
				  : "ldsetp",
		 order_suffix(word >> 23 & 1, word >> 22 & 1));
}

static const char *lrcpc3_name(uint32_t word)
{
	bool load = word >> 22 & 1;
	switch (word >> 24 & 0x3f) {
	case 0x0d:
		return load ? "ldap1" : "stl1";
	case 0x1d:
		return load ? "ldapur" : "stlur";
	default:
		if (word >> 23 & 1)
			return load ? "ldapr" : "stlr";
		return load ? "ldiapp" : "stilp";
	}
}

void atomics_mnemonic(uint32_t word, char text[ATOMICS_MNEMONIC_BYTES])
{
	enum atomic_form form = atomics_form(word);
	text[0] = '\0';
	switch (form) {
	case ATOMIC_CAS:
		snprintf(text, ATOMICS_MNEMONIC_BYTES, "cas%s%s",
			 order_suffix(word >> 22 & 1, word >> 15 & 1), size_suffix(word));
		break;
	case ATOMIC_CASP:
		snprintf(text, ATOMICS_MNEMONIC_BYTES, "casp%s",
			 order_suffix(word >> 22 & 1, word >> 15 & 1));
		break;
	case ATOMIC_SWP:
		snprintf(text, ATOMICS_MNEMONIC_BYTES, "swp%s%s",
			 order_suffix(word >> 23 & 1, word >> 22 & 1), size_suffix(word));
		break;
	case ATOMIC_LD_OP:
	case ATOMIC_ST_OP:
		name_operation(word, form == ATOMIC_ST_OP, text);
		break;
	case ATOMIC_LOAD_EXCLUSIVE:
	case ATOMIC_STORE_EXCLUSIVE:
		name_exclusive(word, form == ATOMIC_LOAD_EXCLUSIVE, text);
		break;
	case ATOMIC_LSE128:
		name_lse128(word, text);
		break;
	case ATOMIC_LRCPC3:
		snprintf(text, ATOMICS_MNEMONIC_BYTES, "%s", lrcpc3_name(word));
		break;
	case ATOMIC_NONE:
	case ATOMIC_FORMS:
		break;
	}
}
