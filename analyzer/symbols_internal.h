/* What symbols.c (cache, stacks) and symbols_module.c (ELF and DWARF, through libdw) share. */
#ifndef MTRACE_SYMBOLS_INTERNAL_H
#define MTRACE_SYMBOLS_INTERNAL_H

#include <elfutils/libdwfl.h>

#include "analyzer/symbols.h"

/* A module of the trace, its file opened when the first address asks for it. */
struct symbol_module {
	const struct trace_module *traced;
	Dwfl *dwfl;	     /* a session of its own: modules may have shared addresses one after another */
	Dwfl_Module *loaded; /* NULL: not opened yet, or not usable */
	char *reason;	     /* why it is not usable */
	bool tried;
};

struct symbol_paths {
	const char *sysroot; /* "" for the machine's own */
	const char *debug_dir;
	char *search; /* libdw's search path for separate debug files */
	Dwfl_Callbacks callbacks;
};

/* Opens the module's file, or its debug file by build-id. Afterwards `loaded` or `reason` is set. */
void symbol_module_open(struct symbol_module *module, const struct symbol_paths *paths);
void symbol_module_close(struct symbol_module *module);

/*
 * Fills `frames` (SYMBOL_INLINE_MAX) for a run-time address inside the module, innermost first. Names are
 * malloc()ed, source_file is owned by libdw. 0 where the address has no name.
 */
size_t symbol_module_lookup(struct symbol_module *module, uint64_t address, struct symbol_frame *frames);

/* The symbol around an address in the file that is no code, malloc()ed; NULL where there is none. */
char *symbol_module_data(struct symbol_module *module, uint64_t in_file, uint64_t *offset_bytes);

#endif
