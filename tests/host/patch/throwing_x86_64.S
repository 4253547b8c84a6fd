/* operator new, whose displaced bytes hold the call that may throw. */
	.text
	.globl	_Znwm
	.type	_Znwm, @function
_Znwm:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	call	throwing_allocate
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	_Znwm, . - _Znwm
	.section .note.GNU-stack, "", @progbits
