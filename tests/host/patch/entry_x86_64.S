/*
 * Entry points as compilers and assemblers may make them, one variant a program (-DVARIANT_<name>). Each malloc adds
 * entry_magic to entry_sum with what stands in its first bytes, so that a wrong copy of them shows.
 */
	.text

	.macro begin name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/* With rbp pushed and the argument still in rdi. */
	.macro finish
	call	entry_allocate
	pop	%rbp
	ret
	.endm

	.macro add_magic
	mov	entry_magic(%rip), %rax
	add	%rax, entry_sum(%rip)
	.endm

	/* Changes neither arguments nor the stack's alignment. */
	.type	helper, @function
helper:
	add_magic
	ret
	.size	helper, . - helper

#if defined VARIANT_endbr
	begin malloc
	endbr64
	push	%rbp
	mov	%rsp, %rbp
	add_magic
	finish
	end malloc

#elif defined VARIANT_load
	begin malloc
	push	%rbp
	mov	entry_magic(%rip), %eax
	add	%rax, entry_sum(%rip)
	finish
	end malloc

#elif defined VARIANT_lea
	begin malloc
	push	%rbp
	lea	entry_magic(%rip), %rax
	mov	(%rax), %rax
	add	%rax, entry_sum(%rip)
	finish
	end malloc

	/* An immediate stands behind the distance. */
#elif defined VARIANT_store
	begin malloc
	movl	$0x12345, scratch(%rip)
	push	%rbp
	mov	scratch(%rip), %eax
	movl	$0, scratch(%rip)
	add	%rax, entry_sum(%rip)
	finish
	end malloc

#elif defined VARIANT_branch
	begin malloc
	test	%rdi, %rdi
	je	1f
	push	%rbp
	add_magic
	finish
1:	push	%rbp
	mov	$0x12345, %eax
	add	%rax, entry_sum(%rip)
	finish
	end malloc

#elif defined VARIANT_branch_near
	begin malloc
	cmp	$20, %edi
	.byte	0x0f, 0x8f
	.long	1f - . - 4
	push	%rbp
	add_magic
	finish
1:	push	%rbp
	mov	$0x12345, %eax
	add	%rax, entry_sum(%rip)
	finish
	end malloc

#elif defined VARIANT_jump
	begin malloc
	push	%rbp
	mov	%rsp, %rbp
	jmp	1f
	ud2
	ud2
1:	add_magic
	finish
	end malloc

#elif defined VARIANT_call
	begin malloc
	push	%rbp
	call	helper
	finish
	end malloc

#elif defined VARIANT_call_memory
	begin malloc
	call	*pointer(%rip)
	push	%rbp
	finish
	end malloc

	/* A loop whose start lies in the first bytes. */
#elif defined VARIANT_branch_back
	begin malloc
	push	%rbp
1:	mov	entry_magic(%rip), %eax
	xorl	$1, scratch(%rip)
	jnz	1b
	add	%rax, entry_sum(%rip)
	finish
	end malloc

#elif defined VARIANT_short_free
	begin free
	ret
	end free

	/* Nothing but a short jump, and filling. */
#elif defined VARIANT_short_malloc
	begin malloc
	jmp	body
	end malloc
	.p2align 4
	.type	body, @function
body:
	push	%rbp
	add_magic
	finish
	.size	body, . - body

	/* The symbol table does not say how long it is. */
#elif defined VARIANT_sizeless
	begin cfree
	push	%rbp
	mov	%rsp, %rbp
	call	entry_release
	pop	%rbp
	ret
	.cfi_endproc

	/* Everything leads to malloc and free by jumps; the assembler must not make short ones. */
#elif defined VARIANT_tail
	.macro far_jump target
	.byte	0xe9
	.long	\target - . - 4
	.endm
	begin malloc
	push	%rbp
	mov	%rsp, %rbp
	add_magic
	finish
	end malloc
	begin free
	push	%rbp
	mov	%rsp, %rbp
	call	entry_release
	pop	%rbp
	ret
	end free
	begin calloc
	imul	%rsi, %rdi
	jmp	malloc
	end calloc
	begin _Znwm
	far_jump malloc
	end _Znwm
	begin _Znam
	far_jump _Znwm
	end _Znam
	begin _ZdlPv
	far_jump free
	end _ZdlPv
	begin _ZdlPvm
	far_jump _ZdlPv
	end _ZdlPvm

#elif defined VARIANT_alias
	.globl	_ZdlPv
	.type	_ZdlPv, @function
	begin free
_ZdlPv:
	push	%rbp
	mov	%rsp, %rbp
	call	entry_release
	pop	%rbp
	ret
	.size	_ZdlPv, . - _ZdlPv
	end free
	.globl	_Znwm
	.type	_Znwm, @function
	begin malloc
_Znwm:
	push	%rbp
	mov	%rsp, %rbp
	add_magic
	finish
	.size	_Znwm, . - _Znwm
	end malloc

	/* A sized delete that goes on into the plain one. */
#elif defined VARIANT_fall_through
	begin _ZdlPvm
	xor	%esi, %esi
	.globl	_ZdlPv
	.type	_ZdlPv, @function
_ZdlPv:
	push	%rbp
	mov	%rsp, %rbp
	call	entry_release
	pop	%rbp
	ret
	.size	_ZdlPv, . - _ZdlPv
	end _ZdlPvm
	begin _Znwm
	push	%rbp
	mov	%rsp, %rbp
	add_magic
	finish
	end _Znwm

#else
#error "no such variant"
#endif

	.section .data.rel, "aw"
	.p2align 3
pointer:
	.quad	helper
	.data
	.p2align 3
scratch:
	.quad	0
	.section .note.GNU-stack, "", @progbits
