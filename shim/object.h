/*
 * A loaded ELF object and the functions that it defines.
 */
#ifndef MTRACE_OBJECT_H
#define MTRACE_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
	const char *path; /* of its file */
	uintptr_t bias;	  /* run-time address minus the address in the file */
	const ElfW(Phdr) * phdrs;
	unsigned phdr_count;
	uintptr_t start, end; /* what it occupies */
	bool symbolic;	      /* linked with -Bsymbolic: its own calls bind to its own definitions */
	bool guarded;	      /* aarch64: marked for branch target identification */
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *sysv_hash;
	const ElfW(Half) * versions; /* of each symbol; NULL: it has none */
};

struct object_symbol {
	uintptr_t address; /* 0: not defined */
	size_t bytes;
	bool exported; /* in the dynamic symbol table, so what others bind to */
	bool indirect; /* an IFUNC: the address is its resolver's */
};

void object_describe(struct object *object, const struct dl_phdr_info *info, const char *path);

/* What the dynamic symbol table says. A version that is kept for old programs only is not found, as dlsym
 * does not. */
struct object_symbol object_exported(const struct object *object, const char *name);

/*
 * For each name the definition, from the dynamic symbol table or, where the file still has one, from .symtab:
 * functions that a hidden visibility or the lack of -rdynamic keeps out of the former. A static function that
 * happens to have such a name is not taken.
 */
void object_find(const struct object *object, const char *const *names, unsigned count,
		 struct object_symbol *symbols);

#endif
