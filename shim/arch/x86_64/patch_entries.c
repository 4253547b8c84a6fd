#include "shim/patch_entries.h"

/*
 * A caller that knows the function may also leave the stack less aligned than others need it (gcc's
 * -fipa-stack-alignment). Nine pushes and eight bytes more: the call finds it aligned. The last push is rax,
 * which a function that hands nothing back gets again.
 */
#define ENTRY(name, hook, last)                                                                              \
	__asm__(".pushsection .text\n"                                                                       \
		".globl entry_" #name "\n.hidden entry_" #name "\n.type entry_" #name ", @function\n"        \
		"entry_" #name ":\n.cfi_startproc\n"                                                         \
		"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"                                 \
		"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\nand $-16, %rsp\n"                               \
		"push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %r10\npush %r11\n"     \
		"push %rax\nsub $8, %rsp\n"                                                                  \
		"call " #hook "\n"                                                                           \
		"add $8, %rsp\n" last "\n"                                                                   \
		"pop %r11\npop %r10\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"             \
		"leave\n.cfi_def_cfa %rsp, 8\nret\n"                                                         \
		".cfi_endproc\n.size entry_" #name ", . - entry_" #name "\n.popsection");

#define ENTRY_VALUE(name, hook) ENTRY(name, hook, "add $8, %rsp")
#define ENTRY_VOID(name, hook)	ENTRY(name, hook, "pop %rax")
PATCH_ENTRIES_VALUE(ENTRY_VALUE)
PATCH_ENTRIES_VOID(ENTRY_VOID)
