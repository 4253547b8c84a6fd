/*
 * Instruction words of AArch64 that are atomic: what form they have, and their name.
 *
 * Encodings: Arm Architecture Reference Manual (DDI 0487), "Loads and stores": compare and swap, atomic
 * memory operations, load/store exclusive; 128-bit atomics (FEAT_LSE128) and FEAT_LRCPC3. Bits that the
 * manual calls should-be-one are not asked for, as in disassemblers. Not counted: LDAPR and its kin
 * (FEAT_LRCPC, FEAT_LRCPC2), LDAR and STLR, which are ordered but no read-modify-write; 64-byte accesses
 * (LD64B, ST64B) likewise.
 */
#ifndef MTRACE_ATOMICS_WORD_H
#define MTRACE_ATOMICS_WORD_H

#include <stdint.h>

enum atomic_form {
	ATOMIC_NONE,
	/* LSE: FEAT_LSE, Armv8.1 */
	ATOMIC_CAS,
	ATOMIC_CASP,
	ATOMIC_SWP,
	ATOMIC_LD_OP, /* LDADD, LDCLR, LDEOR, LDSET, LDSMAX, LDSMIN, LDUMAX, LDUMIN */
	ATOMIC_ST_OP, /* the same without a result: no acquire, and the zero register for it */
	/* one half each of an exclusive pair: Armv8.0 */
	ATOMIC_LOAD_EXCLUSIVE,
	ATOMIC_STORE_EXCLUSIVE,
	/* newer */
	ATOMIC_LSE128, /* LDCLRP, LDSETP, SWPP */
	ATOMIC_LRCPC3, /* LDIAPP, STILP, LDAP1, STL1, LDAPR and STLR with writeback, LDAPUR and STLUR of
			  vectors */
	ATOMIC_FORMS,
};

enum atomic_form atomics_form(uint32_t word);

#define ATOMICS_MNEMONIC_BYTES 16

/* Its name in lower case, as disassemblers print it ("ldaddal"), into `text`; "" where it is none of these.
 */
void atomics_mnemonic(uint32_t word, char text[ATOMICS_MNEMONIC_BYTES]);

#endif
