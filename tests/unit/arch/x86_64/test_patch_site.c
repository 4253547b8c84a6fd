#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/library.h"
#include "shim/patch_site.h"

#define PAGE	    4096u
#define ROOM_BYTES  (UINT64_C(6) << 30)
#define MIDDLE	    (UINT64_C(3) << 30)
#define MIB	    (UINT64_C(1) << 20)
#define HELPER_AT   0x200 /* in the page of the function: lea 7(%rdi),%rax; ret */
#define POINTER_AT  0x300 /* the helper's address */
#define DATA_AT	    0x400 /* 64 bits */
#define DATA	    UINT64_C(0x1234567890)
#define HOOK_ADDS   1000u
#define TOO_SHORT   "it is shorter than a jump"
#define BRANCH_BACK "a branch leads back into its first bytes"
#define NO_SUCH	    "it holds an instruction that the decoder does not know"
#define SHORT_ONLY  "a branch among its first instructions has only a short form"
#define DIRECT_CALL "a call stands among its first instructions"
#define OTHER_CALL  "an indirect call stands among its first instructions"
#define TOO_FAR	    "what its first instructions refer to is too far away"

typedef uint64_t function(uint64_t, uint64_t);

/* The modules under test open the decoder through this. */
void *library_open(const char *soname)
{
	return dlopen(soname, RTLD_NOW | RTLD_LOCAL);
}

static uint8_t *room, *page; /* the function's page is in the middle of much room */
static struct patch_site site;
static unsigned hook_calls;

static uint64_t hook(uint64_t a, uint64_t b)
{
	hook_calls++;
	return ((function *)site.trampoline)(a, b) + HOOK_ADDS;
}

static uint8_t *open_page(uint64_t offset)
{
	cr_assert_eq(mprotect(room + offset, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	return room + offset;
}

static void start(void)
{
	static const uint8_t helper[] = {0x48, 0x8d, 0x47, 0x07, 0xc3};
	uint64_t data = DATA;
	room = mmap(NULL, ROOM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert_neq(room, MAP_FAILED);
	page = open_page(MIDDLE);
	const void *pointer = page + HELPER_AT;
	memcpy(page + HELPER_AT, helper, sizeof helper);
	memcpy(page + POINTER_AT, &pointer, sizeof pointer);
	memcpy(page + DATA_AT, &data, sizeof data);
	cr_assert_null(patch_site_start());
}

TestSuite(patch_site, .init = start);

/* The distance from the end of an instruction, `behind` bytes before the end of its 4 bytes, to an offset. */
static void put_distance(size_t at, size_t behind, int64_t target)
{
	int32_t distance = (int32_t)(target - (int64_t)(at + 4 + behind));
	memcpy(page + at, &distance, 4);
}

static const char *plan(size_t bytes)
{
	site = (struct patch_site){.entry = (uintptr_t)page, .bytes = bytes};
	return patch_site_plan(&site);
}

static const char *build_at(uint64_t slot_offset)
{
	site.slot = open_page(slot_offset);
	memset(site.slot, 0xcc, PAGE); /* whoever leaves the code is stopped */
	return patch_site_build(&site, (const void *)hook);
}

static const char *build(void)
{
	return build_at(MIDDLE + PAGE);
}

#define CODE(...)                                                                                            \
	static const uint8_t code[] = {__VA_ARGS__};                                                         \
	memcpy(page, code, sizeof code)

#define cr_reason(reason, text)                                                                              \
	do {                                                                                                 \
		const char *reason_ = (reason);                                                              \
		cr_assert_not_null(reason_);                                                                 \
		cr_assert_str_eq(reason_, text);                                                             \
	} while (0)

/* Plans and builds, then compares the function with its trampoline, and with itself once it is patched. */
static void works(size_t bytes, size_t pad, size_t displaced, const uint64_t (*arguments)[2], unsigned count)
{
	uint64_t expected[32];
	for (unsigned i = 0; i < count; i++)
		expected[i] = ((function *)(void *)page)(arguments[i][0], arguments[i][1]);
	cr_assert_null(plan(bytes));
	cr_assert_eq(site.pad, pad);
	cr_assert_eq(site.displaced, displaced);
	cr_assert_null(build());
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(((function *)site.trampoline)(arguments[i][0], arguments[i][1]), expected[i]);
	patch_site_write(&site);
	hook_calls = 0;
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(((function *)(void *)page)(arguments[i][0], arguments[i][1]),
			     expected[i] + HOOK_ADDS);
	cr_assert_eq(hook_calls, count);
}

static const uint64_t pairs[][2] = {
	{0, 0}, {1, 2}, {2, 1}, {5, 5}, {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_C(1) << 63, 1}, {3, 0}};
#define PAIRS pairs, sizeof pairs / sizeof *pairs

/* ---- what moves as it is
 * ----------------------------------------------------------------------------------------------- */

Test(patch_site, usual_prologue)
{
	/* push %rbp; mov %rsp,%rbp; lea 1(%rdi,%rsi),%rax; pop %rbp; ret */
	CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x44, 0x37, 0x01, 0x5d, 0xc3);
	works(sizeof code, 0, 9, PAIRS);
}

Test(patch_site, landing_pad_stays)
{
	/* endbr64; push %rbp; mov %rsp,%rbp; lea 1(%rdi,%rsi),%rax; pop %rbp; ret */
	CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x44, 0x37, 0x01, 0x5d, 0xc3);
	works(sizeof code, 4, 9, PAIRS);
	cr_assert_arr_eq(page, code, 4);
	cr_assert_arr_eq((const uint8_t *)site.trampoline, code, 4);
}

/* The five bytes of the jump are all of it. */
Test(patch_site, exactly_a_jump)
{
	/* lea 1(%rdi),%rax; ret */
	CODE(0x48, 0x8d, 0x47, 0x01, 0xc3);
	works(sizeof code, 0, 5, PAIRS);
}

/* ---- operands that count from the instruction
 * ------------------------------------------------------------------------------ */

Test(patch_site, relative_load)
{
	/* mov data(%rip),%rax; add %rdi,%rax; ret */
	CODE(0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3);
	put_distance(3, 0, DATA_AT);
	works(sizeof code, 0, 7, PAIRS);
	cr_assert_eq(((function *)site.trampoline)(2, 0), DATA + 2);
}

Test(patch_site, relative_address)
{
	/* push %rbp; lea data(%rip),%rax; mov (%rax),%rax; pop %rbp; ret */
	CODE(0x55, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x48, 0x8b, 0x00, 0x5d, 0xc3);
	put_distance(4, 0, DATA_AT);
	works(sizeof code, 0, 8, PAIRS);
}

/* Behind the distance there is an immediate of one byte, or of four. */
Test(patch_site, relative_with_immediates)
{
	/* cmpb $0x90,data(%rip); sete %al; movzbl %al,%eax; ret */
	CODE(0x80, 0x3d, 0, 0, 0, 0, 0x90, 0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3);
	put_distance(2, 1, DATA_AT);
	works(sizeof code, 0, 7, PAIRS);
	cr_assert_eq(((function *)site.trampoline)(0, 0), 1);
}

Test(patch_site, relative_store)
{
	/* movl $0x55667788,data(%rip); mov data(%rip),%eax; add %rdi,%rax; ret */
	CODE(0xc7, 0x05, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3);
	put_distance(2, 4, DATA_AT);
	put_distance(12, 0, DATA_AT);
	works(sizeof code, 0, 10, PAIRS);
	memset(page + DATA_AT, 0, 8);
	cr_assert_eq(((function *)site.trampoline)(1, 0), 0x55667789);
}

/* ---- branches
 * --------------------------------------------------------------------------------------------------------------
 */

/* Each condition, taken and not, in the short form and in the near one. */
Test(patch_site, all_conditions)
{
	for (uint8_t condition = 0; condition < 16; condition++) {
		/* cmp %rsi,%rdi; j<condition> 1f; mov $1,%eax; ret; 1: xor %eax,%eax; ret */
		const uint8_t near[] = {
			0x48, 0x39, 0xf7, 0x0f, (uint8_t)(0x80 | condition), 6, 0, 0, 0, 0xb8, 1, 0, 0, 0,
			0xc3, 0x31, 0xc0, 0xc3};
		const uint8_t brief[] = {
			0x48, 0x39, 0xf7, (uint8_t)(0x70 | condition), 6, 0xb8, 1, 0, 0, 0, 0xc3,
			0x31, 0xc0, 0xc3};
		memcpy(page, brief, sizeof brief);
		works(sizeof brief, 0, 5, PAIRS);
		memcpy(page, near, sizeof near);
		works(sizeof near, 0, 9, PAIRS);
	}
}

Test(patch_site, jumps)
{
	{
		/* push %rbp; mov %rsp,%rbp; jmp 1f; int3; 1: lea 1(%rdi),%rax; pop %rbp; ret */
		CODE(0x55, 0x48, 0x89, 0xe5, 0xeb, 1, 0xcc, 0x48, 0x8d, 0x47, 0x01, 0x5d, 0xc3);
		works(sizeof code, 0, 6, PAIRS);
	}
	{
		/* jmp helper */
		CODE(0xe9, 0, 0, 0, 0);
		put_distance(1, 0, HELPER_AT);
		works(sizeof code, 0, 5, PAIRS);
	}
}

Test(patch_site, branch_without_near_form)
{
	/* mov %rdi,%rcx; jrcxz 1f; nop; 1: ret */
	CODE(0x48, 0x89, 0xf9, 0xe3, 1, 0x90, 0xc3);
	cr_assert_null(plan(sizeof code));
	cr_reason(build(), SHORT_ONLY);
}

/* ---- calls
 * -----------------------------------------------------------------------------------------------------------------
 */

Test(patch_site, call)
{
	/* push %rbx; call helper; add $1,%rax; pop %rbx; ret */
	CODE(0x53, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc0, 0x01, 0x5b, 0xc3);
	put_distance(2, 0, HELPER_AT);
	works(sizeof code, 0, 6, PAIRS);
}

/* What the callee returns to is the function itself, where unwinders find what they need. */
Test(patch_site, call_returns_into_the_function)
{
	/* call helper; ret; the helper gives its return address: mov (%rsp),%rax; ret */
	CODE(0xe8, 0, 0, 0, 0, 0xc3);
	static const uint8_t helper[] = {0x48, 0x8b, 0x04, 0x24, 0xc3};
	put_distance(1, 0, HELPER_AT);
	memcpy(page + HELPER_AT, helper, sizeof helper);
	cr_assert_null(plan(sizeof code));
	cr_assert_null(build());
	cr_assert_eq(((function *)site.trampoline)(0, 0), (uintptr_t)page + 5);
}

Test(patch_site, call_through_memory)
{
	/* call *pointer(%rip); add %rsi,%rax; ret */
	CODE(0xff, 0x15, 0, 0, 0, 0, 0x48, 0x01, 0xf0, 0xc3);
	put_distance(2, 0, POINTER_AT);
	works(sizeof code, 0, 6, PAIRS);
}

Test(patch_site, call_through_registers)
{
	const uint64_t arguments[][2] = {{5, (uintptr_t)page + HELPER_AT}, {9, (uintptr_t)page + HELPER_AT}};
	{
		/* push %rbx; mov %rdi,%rbx; call *%rsi; add %rbx,%rax; pop %rbx; ret */
		CODE(0x53, 0x48, 0x89, 0xfb, 0xff, 0xd6, 0x48, 0x01, 0xd8, 0x5b, 0xc3);
		works(sizeof code, 0, 6, arguments, 2);
	}
	{
		/* push %rbx; mov %rsi,%r8; call *%r8; pop %rbx; ret */
		CODE(0x53, 0x49, 0x89, 0xf0, 0x41, 0xff, 0xd0, 0x5b, 0xc3);
		works(sizeof code, 0, 7, arguments, 2);
	}
	{
		/* push %rbx; mov %rdi,%rbx; call *0x10(%rsi); pop %rbx; ret */
		const uint64_t tables[][2] = {{5, (uintptr_t)page + POINTER_AT - 0x10}};
		CODE(0x53, 0x48, 0x89, 0xfb, 0xff, 0x56, 0x10, 0x5b, 0xc3);
		works(sizeof code, 0, 7, tables, 1);
	}
}

Test(patch_site, call_through_the_stack)
{
	/* push %rsi; call *(%rsp); pop %rsi; ret */
	CODE(0x56, 0x66, 0x90, 0xff, 0x14, 0x24, 0x5e, 0xc3);
	cr_assert_null(plan(sizeof code));
	cr_reason(build(), OTHER_CALL);
}

/* The callee would return into the jump. */
Test(patch_site, call_with_more_behind_it)
{
	/* call *%rsi; nop; nop; nop; ret */
	CODE(0xff, 0xd6, 0x90, 0x90, 0x90, 0xc3);
	cr_assert_null(plan(sizeof code));
	cr_reason(build(), DIRECT_CALL);
}

/* ---- what is left alone
 * ------------------------------------------------------------------------------------------------ */

Test(patch_site, too_short)
{
	{
		CODE(0xc3); /* ret */
		cr_reason(plan(sizeof code), TOO_SHORT);
	}
	{
		CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xc0, 0xc3); /* endbr64; xor %eax,%eax; ret */
		cr_reason(plan(sizeof code), TOO_SHORT);
	}
	{
		/* xor %eax,%eax; ret; and another piece of it, which nothing is known about */
		CODE(0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0xc3);
		cr_reason(plan(sizeof code), TOO_SHORT);
	}
	{
		CODE(0xeb, 3, 0x90, 0x90, 0x90, 0xc3); /* jmp over what a jump would need */
		cr_reason(plan(sizeof code), TOO_SHORT);
	}
}

Test(patch_site, size_ends_within_an_instruction)
{
	/* push %rbp; movabs $..., %rax, of which the size has five bytes only */
	CODE(0x55, 0x48, 0xb8, 1, 2, 3);
	cr_reason(plan(sizeof code), NO_SUCH);
}

Test(patch_site, unknown_instruction_in_the_body)
{
	/* lea 1(%rdi),%rax; ret; push %es, which 64-bit mode has not */
	CODE(0x48, 0x8d, 0x47, 0x01, 0xc3, 0x06);
	cr_reason(plan(sizeof code), NO_SUCH);
}

Test(patch_site, branches_back)
{
	/* push %rbp; 1: mov $3,%ecx; dec %edi; jne 1b; pop %rbp; ret, to each byte from the start on */
	for (int target = 0; target < 8; target++) {
		CODE(0x55, 0xb9, 3, 0, 0, 0, 0xff, 0xcf, 0x75, 0, 0x5d, 0xc3);
		page[9] = (uint8_t)(target - 10);
		if (target < 6)
			cr_reason(plan(sizeof code), BRANCH_BACK);
		else
			cr_assert_null(plan(sizeof code));
	}
}

/* A function that calls itself comes through its hook again. */
Test(patch_site, recursion)
{
	/* test %rdi,%rdi; je 1f; dec %rdi; call entry; inc %rax; ret; 1: xor %eax,%eax; ret */
	CODE(0x48, 0x85, 0xff, 0x74, 0x0c, 0x48, 0xff, 0xcf, 0xe8, 0, 0, 0, 0, 0x48, 0xff, 0xc0, 0xc3, 0x31,
	     0xc0, 0xc3);
	put_distance(9, 0, 0);
	cr_assert_null(plan(sizeof code));
	cr_assert_null(build());
	patch_site_write(&site);
	cr_assert_eq(((function *)(void *)page)(4, 0), 4 + 5 * HOOK_ADDS);
	cr_assert_eq(hook_calls, 5);
}

/* ---- distances
 * -------------------------------------------------------------------------------------------------------------
 */

Test(patch_site, slots_as_far_as_promised)
{
	CODE(0x48, 0x8d, 0x47, 0x01, 0xc3); /* lea 1(%rdi),%rax; ret */
	const uint64_t far[] = {MIDDLE - patch_site_reach_bytes, MIDDLE + patch_site_reach_bytes - PAGE};
	for (unsigned i = 0; i < 2; i++) {
		memcpy(page, code, sizeof code);
		cr_assert_null(plan(sizeof code));
		cr_assert_null(build_at(far[i]));
		patch_site_write(&site);
		cr_assert_eq(((function *)(void *)page)(41, 0), 42 + HOOK_ADDS);
	}
}

Test(patch_site, slot_out_of_reach)
{
	CODE(0x48, 0x8d, 0x47, 0x01, 0xc3); /* lea 1(%rdi),%rax; ret */
	cr_assert_null(plan(sizeof code));
	cr_reason(build_at(MIDDLE + 2100 * MIB), TOO_FAR);
	cr_reason(build_at(MIDDLE - 2100 * MIB), TOO_FAR);
}

/* The function reaches it, the slot on its other side does not. */
Test(patch_site, operand_out_of_reach)
{
	CODE(0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3); /* mov far(%rip),%rax; ret */
	put_distance(3, 0, (int64_t)(1500 * MIB));
	cr_assert_null(plan(sizeof code));
	cr_reason(build_at(MIDDLE - 1000 * MIB), TOO_FAR);
	cr_assert_null(build_at(MIDDLE + 1000 * MIB));
}
