/*
 * Folders that stand for a machine with a mongod, for `doctor --root`: healthy ones, of which a test then
 * spoils a file; and ELF files with the symbols that doctor looks for. Failures of the test's own files
 * abort.
 */
#ifndef MTRACE_SUPPORT_DOCTOR_H
#define MTRACE_SUPPORT_DOCTOR_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_PID 4711

/* A new empty folder. */
const char *fake_root(void);

/* `path` is below the root; folders are made as needed. */
void fake_file(const char *root, const char *path, const char *text);
void fake_bytes(const char *root, const char *path, const void *data, size_t bytes);
void fake_link(const char *root, const char *path, const char *target);
void fake_remove(const char *root, const char *path);

/* All that the checks of the machine read, as MongoDB 8.0 wants it: nothing to complain about. */
const char *healthy_machine(const char *arch);

/* A symbol of a fake ELF file; of type STT_TLS where `tls` is set. */
struct fake_symbol {
	const char *name;
	uint64_t value;
	int tls;
};

struct fake_elf {
	unsigned machine;			    /* EM_X86_64, EM_AARCH64 */
	const char *interpreter;		    /* NULL: static */
	const struct fake_symbol *symbols;	    /* ended by a name of NULL; NULL: none */
	uint64_t tls_address, tls_bytes, tls_align; /* bytes 0: no such segment */
	const uint32_t *code;			    /* instructions */
	size_t code_count;
};
void fake_elf(const char *root, const char *path, const struct fake_elf *elf);

/* A mongod in that machine, dynamic, with google/tcmalloc, in the root folder "guest" of its own:
 * /usr/bin/mongod, its libc.so.6 and loader, its files in proc/FAKE_PID; rseq left to it by GLIBC_TUNABLES.
 */
void healthy_process(const char *root, unsigned machine);

/* Its program once more, with other symbols. */
void fake_program(const char *root, unsigned machine, const struct fake_symbol *symbols);

/* The memory of its threads: so many in all, with glibc's rseq area registered, with the program's own. */
struct fake_threads {
	unsigned machine;
	int count, glibc, program;
};
void fake_memory(const char *root, const struct fake_threads *threads);

/* Runs `doctor --json OPTION...` (NULL at the end), and expects that exit status. To be freed. */
json_t *doctor_report(int status, const char *const *options);
#define DOCTOR(status, ...) doctor_report(status, (const char *const[]){__VA_ARGS__, NULL})

/* Of one finding: "ok", "warn", "bad", "unknown"; "absent". */
const char *state_of(const json_t *report, const char *id);
const char *field_of(const json_t *report, const char *id, const char *field); /* "" for null */

/* Is that finding in that state, with the text in its field `field` (unless NULL)? Aborts the test if not. */
void expect_finding(const json_t *report, const char *id, const char *state, const char *field,
		    const char *text);

#endif
