#include "shim/patch_entries.h"

/* x0 to x15 and x18; x16 and x17 any call may change. x0 comes back where a function hands nothing back. */
#define ENTRY(name, hook, last)                                                                              \
	__asm__(".pushsection .text\n.align 2\n"                                                             \
		".globl entry_" #name "\n.hidden entry_" #name "\n.type entry_" #name ", %function\n"        \
		"entry_" #name ":\n.cfi_startproc\n"                                                         \
		"stp x29, x30, [sp, #-160]!\n"                                                               \
		".cfi_def_cfa_offset 160\n.cfi_offset 29, -160\n.cfi_offset 30, -152\n"                      \
		"mov x29, sp\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"         \
		"stp x6, x7, [sp, #64]\nstp x8, x9, [sp, #80]\nstp x10, x11, [sp, #96]\n"                    \
		"stp x12, x13, [sp, #112]\nstp x14, x15, [sp, #128]\nstr x18, [sp, #144]\n"                  \
		"bl " #hook "\n" last "\n"                                                                   \
		"ldr x1, [sp, #24]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\n"   \
		"ldp x8, x9, [sp, #80]\nldp x10, x11, [sp, #96]\nldp x12, x13, [sp, #112]\n"                 \
		"ldp x14, x15, [sp, #128]\nldr x18, [sp, #144]\n"                                            \
		"ldp x29, x30, [sp], #160\n"                                                                 \
		".cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\nret\n"                             \
		".cfi_endproc\n.size entry_" #name ", . - entry_" #name "\n.popsection");

#define ENTRY_VALUE(name, hook) ENTRY(name, hook, "")
#define ENTRY_VOID(name, hook)	ENTRY(name, hook, "ldr x0, [sp, #16]")
PATCH_ENTRIES_VALUE(ENTRY_VALUE)
PATCH_ENTRIES_VOID(ENTRY_VOID)
