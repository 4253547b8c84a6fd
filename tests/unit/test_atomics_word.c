#include <criterion/criterion.h>

#include "analyzer/atomics_word.h"

struct sample {
	uint32_t word;
	enum atomic_form form;
	const char *name;
};

/* Words and names as two assemblers make them (binutils 2.40; LSE128 and LRCPC3: llvm-mc 16). */
static const struct sample atomic[] = {
	/* cas: every size and order */
	{0x08a07c41, ATOMIC_CAS, "casb"},
	{0x48a07c41, ATOMIC_CAS, "cash"},
	{0x88a07c41, ATOMIC_CAS, "cas"},
	{0xc8a07c41, ATOMIC_CAS, "cas"},
	{0x88e07c41, ATOMIC_CAS, "casa"},
	{0x88a0fc41, ATOMIC_CAS, "casl"},
	{0x88e0fc41, ATOMIC_CAS, "casal"},
	{0x08e0fc41, ATOMIC_CAS, "casalb"},
	{0x48207c82, ATOMIC_CASP, "casp"},
	{0x0860fc82, ATOMIC_CASP, "caspal"},
	{0x48607c82, ATOMIC_CASP, "caspa"},
	{0x4820fc82, ATOMIC_CASP, "caspl"},
	{0xb8208041, ATOMIC_SWP, "swp"},
	{0xf8a08041, ATOMIC_SWP, "swpa"},
	{0xf8608041, ATOMIC_SWP, "swpl"},
	{0x38e18062, ATOMIC_SWP, "swpalb"},
	{0x78e08041, ATOMIC_SWP, "swpalh"},
	{0xb8200041, ATOMIC_LD_OP, "ldadd"},
	{0xb8e00041, ATOMIC_LD_OP, "ldaddal"},
	{0x38a00041, ATOMIC_LD_OP, "ldaddab"},
	{0xb8601041, ATOMIC_LD_OP, "ldclrl"},
	{0xf8202041, ATOMIC_LD_OP, "ldeor"},
	{0xf8e03041, ATOMIC_LD_OP, "ldsetal"},
	{0xb8204041, ATOMIC_LD_OP, "ldsmax"},
	{0x78205041, ATOMIC_LD_OP, "ldsminh"},
	{0xb8206041, ATOMIC_LD_OP, "ldumax"},
	{0xb8207041, ATOMIC_LD_OP, "ldumin"},
	{0xb821005f, ATOMIC_ST_OP, "stadd"},
	{0xf861105f, ATOMIC_ST_OP, "stclrl"},
	{0x3821205f, ATOMIC_ST_OP, "steorb"},
	{0x7861305f, ATOMIC_ST_OP, "stsetlh"},
	{0xb821405f, ATOMIC_ST_OP, "stsmax"},
	{0xb821505f, ATOMIC_ST_OP, "stsmin"},
	{0xb821605f, ATOMIC_ST_OP, "stumax"},
	{0xb861705f, ATOMIC_ST_OP, "stuminl"},
	{0xb8a1005f, ATOMIC_LD_OP, "ldadda"}, /* with acquire it has no name of a store */
	/* exclusive pairs */
	{0x085f7c41, ATOMIC_LOAD_EXCLUSIVE, "ldxrb"},
	{0x485f7c41, ATOMIC_LOAD_EXCLUSIVE, "ldxrh"},
	{0x885f7c41, ATOMIC_LOAD_EXCLUSIVE, "ldxr"},
	{0xc85ffc41, ATOMIC_LOAD_EXCLUSIVE, "ldaxr"},
	{0x887f0c41, ATOMIC_LOAD_EXCLUSIVE, "ldxp"},
	{0xc87f8c41, ATOMIC_LOAD_EXCLUSIVE, "ldaxp"},
	{0x08037c41, ATOMIC_STORE_EXCLUSIVE, "stxrb"},
	{0x88037c41, ATOMIC_STORE_EXCLUSIVE, "stxr"},
	{0xc803fc41, ATOMIC_STORE_EXCLUSIVE, "stlxr"},
	{0xc8240c41, ATOMIC_STORE_EXCLUSIVE, "stxp"},
	{0x88248c41, ATOMIC_STORE_EXCLUSIVE, "stlxp"},
	/* FEAT_LSE128 */
	{0x19221161, ATOMIC_LSE128, "ldclrp"},
	{0x19a21161, ATOMIC_LSE128, "ldclrpa"},
	{0x19621161, ATOMIC_LSE128, "ldclrpl"},
	{0x19e21161, ATOMIC_LSE128, "ldclrpal"},
	{0x19223161, ATOMIC_LSE128, "ldsetp"},
	{0x19e23161, ATOMIC_LSE128, "ldsetpal"},
	{0x19228161, ATOMIC_LSE128, "swpp"},
	{0x19e28161, ATOMIC_LSE128, "swppal"},
	/* FEAT_LRCPC3 */
	{0x99000a18, ATOMIC_LRCPC3, "stilp"},
	{0xd9001a18, ATOMIC_LRCPC3, "stilp"},
	{0x99400a18, ATOMIC_LRCPC3, "ldiapp"},
	{0xd9401a18, ATOMIC_LRCPC3, "ldiapp"},
	{0x99c00be3, ATOMIC_LRCPC3, "ldapr"},
	{0xd9c00be3, ATOMIC_LRCPC3, "ldapr"},
	{0x99800be3, ATOMIC_LRCPC3, "stlr"},
	{0xd9800be3, ATOMIC_LRCPC3, "stlr"},
	{0x0d4187e3, ATOMIC_LRCPC3, "ldap1"},
	{0x4d018403, ATOMIC_LRCPC3, "stl1"},
	{0x1d1ff9e3, ATOMIC_LRCPC3, "stlur"},
	{0x1ddffbe3, ATOMIC_LRCPC3, "ldapur"},
};

/* Close to them, and none. */
static const struct sample others[] = {
	{0xf8bfc041, ATOMIC_NONE, "ldapr"},		    /* FEAT_LRCPC */
	{0x38bfc041, ATOMIC_NONE, "ldaprb"},		    /**/
	{0xd9401041, ATOMIC_NONE, "ldapur"},		    /* FEAT_LRCPC2 */
	{0x19000041, ATOMIC_NONE, "stlurb"},		    /**/
	{0x88dffc41, ATOMIC_NONE, "ldar"},		    /* ordered, but no read-modify-write */
	{0x889ffc41, ATOMIC_NONE, "stlr"},		    /**/
	{0x88df7c41, ATOMIC_NONE, "ldlar"},		    /**/
	{0xf83f9080, ATOMIC_NONE, "st64b"},		    /* FEAT_LS64 */
	{0xf83fd080, ATOMIC_NONE, "ld64b"},		    /**/
	{0xf821b080, ATOMIC_NONE, "st64bv"},		    /**/
	{0x08217c82, ATOMIC_NONE, "casp of odd registers"}, /* unallocated */
	{0x08207c83, ATOMIC_NONE, "casp of odd registers"}, /**/
	{0xb8606841, ATOMIC_NONE, "ldr w1, [x2, x0]"},
	{0xb8400041, ATOMIC_NONE, "ldur"},
	{0xa9bf7bfd, ATOMIC_NONE, "stp"},
	{0xd65f03c0, ATOMIC_NONE, "ret"},
	{0xd503201f, ATOMIC_NONE, "nop"},
	{0x00000000, ATOMIC_NONE, "udf"},
	{0xffffffff, ATOMIC_NONE, "nothing"},
};

Test(atomics_word, every_form)
{
	char name[ATOMICS_MNEMONIC_BYTES];
	for (size_t i = 0; i < sizeof atomic / sizeof *atomic; i++) {
		cr_expect_eq(atomics_form(atomic[i].word), atomic[i].form, "%08x %s", atomic[i].word,
			     atomic[i].name);
		atomics_mnemonic(atomic[i].word, name);
		cr_expect_str_eq(name, atomic[i].name, "%08x", atomic[i].word);
	}
}

Test(atomics_word, neighbours)
{
	char name[ATOMICS_MNEMONIC_BYTES];
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		cr_expect_eq(atomics_form(others[i].word), ATOMIC_NONE, "%08x %s", others[i].word,
			     others[i].name);
		atomics_mnemonic(others[i].word, name);
		cr_expect_str_empty(name);
	}
}

/* Registers change nothing. */
Test(atomics_word, any_registers)
{
	for (size_t i = 0; i < sizeof atomic / sizeof *atomic; i++) {
		if (atomic[i].form == ATOMIC_ST_OP || atomic[i].form == ATOMIC_CASP)
			continue;
		for (uint32_t address = 0; address < 32; address++)
			cr_expect_eq(atomics_form((atomic[i].word & ~UINT32_C(0x3e0)) | address << 5),
				     atomic[i].form);
		for (uint32_t target = 0; target < 31; target++)
			cr_expect_eq(atomics_form((atomic[i].word & ~UINT32_C(0x1f)) | target),
				     atomic[i].form);
	}
}
