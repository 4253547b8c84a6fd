/*
 * The MTRACE_ variables (README.md). A bad value costs one line on stderr that names the variable,
 * the value and the default used instead; it never stops anything.
 */
#ifndef MTRACE_CONFIG_H
#define MTRACE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/thread.h"

#define CONFIG_PATH_BYTES 4096

/* Where the state of pages may be read; MTRACE_PAGES. */
enum pages_wanted {
	PAGES_WANT_AUTO,
	PAGES_WANT_SCAN, /* by ioctl(PAGEMAP_SCAN) or not at all */
	PAGES_WANT_KPAGEFLAGS,
	PAGES_WANT_SMAPS, /* sums by mapping alone */
	PAGES_WANT_OFF,
};

struct config {
	enum thread_mode mode; /* MODE_CLOSED: off */
	uint64_t sample_bytes;
	uint64_t max_mib;
	uint64_t ring_mib;
	uint64_t interval_ms;
	unsigned stack_depth;
	bool children;
	bool locks;
	bool patch; /* MTRACE_PATCH=auto */
	enum pages_wanted pages;
	char out[CONFIG_PATH_BYTES]; /* as given, with its % sequences */
	char exe_glob[256];
};
extern struct config config;

/* Reads the variables from `environment` (as environ; NULL: from /proc/self/environ). Complains at most once
 * a process. */
void config_read(char **environment);

/*
 * Expands config.out for this process into an absolute path: %h host, %p process id, %e program name, %t
 * start time (unix seconds), %% a percent sign. Returns false where it would be longer than `bytes`.
 */
bool config_trace_path(char *path, size_t bytes);

/* Path of the program, and its last part. */
const char *config_exe_path(void);
const char *config_exe_name(void);

/* Shell-like match with * and ?; exported for tests. */
bool config_glob(const char *pattern, const char *text);

/* Parses a number with an optional suffix K, M, G (powers of 1024). Exported for tests. */
bool config_size(const char *text, uint64_t *value);

#endif
