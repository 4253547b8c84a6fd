/*
 * Is this machine, and this mongod, set up as its allocator needs it? A row of checks over the facts
 * (analyzer/doctor_facts.h), each with an id that never changes; docs/doctor.md has a section for each.
 */
#ifndef MTRACE_DOCTOR_H
#define MTRACE_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyzer/doctor_facts.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WARN,	/* costs something, or is not as recommended */
	DOCTOR_BAD,	/* defeats the allocator, or keeps mongod from running */
	DOCTOR_UNKNOWN, /* could not be looked at; `found` says why */
};

/* Whose recommendations hold. */
enum doctor_profile {
	PROFILE_GOOGLE, /* MongoDB 8.0 and newer on x86-64 and AArch64: google/tcmalloc, per-CPU caches, THP
			   on */
	PROFILE_LEGACY, /* MongoDB 7.0 and older, or gperftools: THP off */
	PROFILE_OTHER,	/* another allocator: MongoDB recommends nothing */
};

struct doctor_finding {
	const char *id;
	enum doctor_state state;
	const char *source; /* where the recommendation is from */
	const char *why;    /* why it matters */
	char *found;
	char *wanted; /* NULL: nothing in particular */
	char *fix;    /* a command for a shell, run as root; NULL: there is none, or nothing to fix */
	char *advice; /* what a command cannot do, or what to know about it; NULL */
};

struct doctor {
	const struct facts *facts;
	enum doctor_profile profile;
	bool process; /* the facts are about a process, running or recorded */
	bool machine; /* the facts are about a running machine */
	struct doctor_finding *findings;
	size_t count;
	bool no_memory;
};

/*
 * The profile that the facts give: by the allocator, else by the version, else google. `version` (as in
 * "7.0") overrules them unless NULL; false where it is no version.
 */
bool doctor_choose_profile(const struct facts *facts, const char *version, enum doctor_profile *profile);

/* Makes all checks that apply. Fields but `findings` and `count` are filled in; doctor_free() afterwards. */
void doctor_run(struct doctor *doctor);
void doctor_free(struct doctor *doctor);

/* "ok", "warn", "bad", "unknown": stable. */
const char *doctor_state_name(enum doctor_state state);
/* How many findings are in that state. */
size_t doctor_count(const struct doctor *doctor, enum doctor_state state);

/* The object is the caller's; NULL when out of memory. */
json_t *doctor_json(const struct doctor *doctor);
void doctor_print(FILE *file, const struct doctor *doctor);

#endif
