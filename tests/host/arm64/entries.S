/*
 * Entry points of an allocator, each of which begins with an instruction that cannot simply be run elsewhere. What the
 * instruction did is checked, then the work is done in allocator.c.
 *
 * With -mbranch-protection=standard the pages are guarded: an entry starts with a landing pad, or with paciasp, which
 * is one too.
 */
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define PAD hint 34 /* bti c */
#else
#define PAD
#endif

#define ENTRY(name)                                                                                          \
	.globl name;                                                                                         \
	.type name, %function;                                                                               \
	.p2align 4;                                                                                          \
	name:

#define END(name) .size name, . - name

	.text

/* ---- loads of literals, which lie behind the functions -------------------------------------------------------- */

	.p2align 4
literal:
	.quad 0x1122334455667788
	.quad 0xf1e2d3c4b5a69788

ENTRY(malloc)
	PAD
	ldr x9, literal
	ldr x10, =0x1122334455667788
	cmp x9, x10
	b.ne wrong_entry
	b allocator_malloc
END(malloc)

ENTRY(memalign)
	PAD
	ldr w9, literal
	ldr w10, =0x55667788
	cmp x9, x10
	b.ne wrong_entry
	b allocator_memalign
END(memalign)

ENTRY(aligned_alloc)
	PAD
	ldrsw x9, literal + 8
	ldr x10, =0xffffffffb5a69788
	cmp x9, x10
	b.ne wrong_entry
	b allocator_memalign
END(aligned_alloc)

ENTRY(valloc)
	PAD
	ldr s16, literal
	fmov w9, s16
	ldr w10, =0x55667788
	cmp w9, w10
	b.ne wrong_entry
	b allocator_malloc
END(valloc)

ENTRY(pvalloc)
	PAD
	ldr d16, literal + 8
	fmov x9, d16
	ldr x10, =0xf1e2d3c4b5a69788
	cmp x9, x10
	b.ne wrong_entry
	b allocator_malloc
END(pvalloc)

ENTRY(malloc_usable_size)
	PAD
	ldr q16, literal
	mov x9, v16.d[1]
	ldr x10, =0xf1e2d3c4b5a69788
	cmp x9, x10
	b.ne wrong_entry
	b allocator_usable
END(malloc_usable_size)

/* operator new(size_t, align_val_t) */
ENTRY(_ZnwmSt11align_val_t)
	PAD
	prfm pldl1keep, literal
	mov x9, x0
	mov x0, x1
	mov x1, x9
	b allocator_memalign
END(_ZnwmSt11align_val_t)

/* operator new[](size_t, align_val_t) */
ENTRY(_ZnamSt11align_val_t)
	PAD
	ldr xzr, literal
	mov x9, x0
	mov x0, x1
	mov x1, x9
	b allocator_memalign
END(_ZnamSt11align_val_t)

/* ---- addresses ------------------------------------------------------------------------------------------------ */

ENTRY(calloc)
	PAD
	adr x9, literal
	adrp x10, literal
	add x10, x10, :lo12:literal
	cmp x9, x10
	b.ne wrong_entry
	b allocator_calloc
END(calloc)

ENTRY(realloc)
	PAD
	adrp x9, literal
	ldr x9, [x9, :lo12:literal]
	ldr x10, =0x1122334455667788
	cmp x9, x10
	b.ne wrong_entry
	b allocator_realloc
END(realloc)

/* ---- branches ------------------------------------------------------------------------------------------------- */

ENTRY(free)
	PAD
	cbz x0, 1f
	cbz x0, wrong_entry
	b allocator_free
1:	cbnz x0, wrong_entry
	ret
END(free)

/* operator new[](size_t): 0 falls through */
ENTRY(_Znam)
	PAD
	cbnz x0, 1f
	cbnz x0, wrong_entry
	mov x0, 1
1:	b allocator_malloc
END(_Znam)

/* By the alignment's bit 4, both ways. */
ENTRY(posix_memalign)
	PAD
	tbnz w1, 4, 1f
	and x9, x1, 16
	cbnz x9, wrong_entry
	b allocator_posix_memalign
1:	and x9, x1, 16
	cbz x9, wrong_entry
	b allocator_posix_memalign
END(posix_memalign)

/* operator delete(void *): blocks are aligned */
ENTRY(_ZdlPv)
	PAD
	tbz x0, 0, 1f
	b wrong_entry
1:	b allocator_free
END(_ZdlPv)

/* operator new(size_t): the flags are whatever they are, and stay so */
ENTRY(_Znwm)
	PAD
	b.eq 1f
	b.eq wrong_entry
	b allocator_malloc
1:	b.ne wrong_entry
	b allocator_malloc
END(_Znwm)

/* A function of one instruction that is a branch; and one that leads to another entry. */
ENTRY(reallocarray)
	PAD
	b allocator_reallocarray
END(reallocarray)

ENTRY(cfree)
	PAD
	b free
END(cfree)

/* One instruction that leads nowhere. */
ENTRY(free_sized)
	PAD
	ret
END(free_sized)

/* It ends in the next function. Where it has a landing pad, that is all it has: too short. */
ENTRY(free_aligned_sized)
#if defined(__ARM_FEATURE_BTI_DEFAULT)
	PAD
#else
	nop
#endif
END(free_aligned_sized)
	.globl _ZdaPv
	.type _ZdaPv, %function
_ZdaPv:
	PAD
	b.ne 1f
1:	b allocator_free
END(_ZdaPv)

/* A branch back to the start: left alone. operator new(size_t, nothrow_t const &) */
ENTRY(_ZnwmRKSt9nothrow_t)
	PAD
	cmp x0, 64
	b.hs 1f
	add x0, x0, 8
	b _ZnwmRKSt9nothrow_t
1:	b allocator_unseen
END(_ZnwmRKSt9nothrow_t)

/* A call, which leaves the address behind it: the function never returns. operator delete(void *, size_t) */
ENTRY(_ZdlPvm)
	PAD
	bl 1f
_ZdlPvm_behind_call:
	b wrong_entry
1:	adr x9, _ZdlPvm_behind_call
	cmp x30, x9
	b.ne wrong_entry
	b allocator_end_process
END(_ZdlPvm)

/* ---- signed return addresses ---------------------------------------------------------------------------------- */

/* operator new[](size_t, nothrow_t const &) */
ENTRY(_ZnamRKSt9nothrow_t)
	hint 25 /* paciasp */
	adr x9, literal
	stp x29, x30, [sp, -16]!
	mov x29, sp
	adrp x10, literal
	add x10, x10, :lo12:literal
	cmp x9, x10
	b.ne wrong_entry
	bl allocator_malloc
	ldp x29, x30, [sp], 16
	hint 29 /* autiasp */
	ret
END(_ZnamRKSt9nothrow_t)

/* operator delete[](void *, size_t): both ways */
ENTRY(_ZdaPvm)
	hint 25
	cbz x0, 1f
	stp x29, x30, [sp, -16]!
	mov x29, sp
	bl allocator_free
	ldp x29, x30, [sp], 16
1:	hint 29
	ret
END(_ZdaPvm)

	.type wrong_entry, %function
wrong_entry:
	mov x0, x30
	b allocator_wrong
	.size wrong_entry, . - wrong_entry

	.ltorg

/* A place that no indirect branch may reach where pages are guarded. */
	.globl unmarked_function
	.type unmarked_function, %function
	.p2align 4
unmarked_function:
	ret
	.size unmarked_function, . - unmarked_function

#if defined(__ARM_FEATURE_BTI_DEFAULT)
/* The start files of many distributions have no landing pads. */
ENTRY(_start)
	PAD
	mov x29, 0
	mov x30, 0
	mov x5, x0
	ldr x1, [sp]
	add x2, sp, 8
	mov x6, sp
	adrp x0, main
	add x0, x0, :lo12:main
	mov x3, 0
	mov x4, 0
	bl __libc_start_main
	brk 0
END(_start)

	.section .note.gnu.property, "a"
	.p2align 3
	.word 4, 16, 5
	.asciz "GNU"
	.word 0xc0000000, 4, 1, 0 /* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
#endif
	.section .note.GNU-stack, "", %progbits
