/* What the checks are made of; for doctor_check_*.c alone. */
#ifndef MTRACE_DOCTOR_CHECK_H
#define MTRACE_DOCTOR_CHECK_H

#include "analyzer/doctor.h"

/* One check while it is made. It starts as ok. */
struct judge {
	const struct facts *facts;
	enum doctor_profile profile;
	const struct doctor *doctor;
	struct doctor_finding *finding;
	bool no_memory;
};

enum { APPLIES_ALWAYS = 0, APPLIES_PROCESS = 1, APPLIES_GOOGLE = 2, APPLIES_AARCH64 = 4, APPLIES_LIVE = 8 };

struct doctor_check {
	const char *id;
	unsigned applies; /* all of these must hold */
	void (*run)(struct judge *judge);
	const char *why;
	const char *source;
};

/* Tables, each ended by an id of NULL. */
extern const struct doctor_check doctor_checks_thp[];
extern const struct doctor_check doctor_checks_system[];
extern const struct doctor_check doctor_checks_rseq[];
extern const struct doctor_check doctor_checks_memory[];
extern const struct doctor_check doctor_checks_shim[];

/* Sources, for the tables. */
#define SOURCE_TCMALLOC	  "https://www.mongodb.com/docs/manual/administration/tcmalloc-performance/"
#define SOURCE_THP_OFF	  "https://www.mongodb.com/docs/manual/tutorial/disable-transparent-huge-pages/"
#define SOURCE_PRODUCTION "https://www.mongodb.com/docs/manual/administration/production-notes/"
#define SOURCE_CHECKLIST  "https://www.mongodb.com/docs/manual/administration/production-checklist-operations/"
#define SOURCE_TRANSHUGE  "https://docs.kernel.org/admin-guide/mm/transhuge.html"
#define SOURCE_SYSCTL_VM  "https://docs.kernel.org/admin-guide/sysctl/vm.html"

/* printf's; each may be called once. */
void judge_found(struct judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));
void judge_wanted(struct judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));
void judge_fix(struct judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));
void judge_advice(struct judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "6.18.5-1-amd64" as one number that compares, 6018005; with two parts the third is 0; -1 for anything else.
 */
int64_t judge_release(const char *text);

/* `state` unless it is worse already. */
void judge_state(struct judge *judge, enum doctor_state state);

/* True where the fact is not known: the finding is then unknown, for the fact's reason. */
bool judge_lacks(struct judge *judge, enum fact_id id);

/*
 * A fix that gives the process NAME=VALUE at its start: by a drop-in where a systemd unit runs it, else by
 * its own command line; in a container, where nobody can tell how it was started, as advice.
 */
void judge_fix_environment(struct judge *judge, const char *name, const char *value);

/*
 * A fix that starts the process once more: in its folder, as its user, with what of its environment matters
 * to its allocator, and NAME=VALUE (unless `name` is NULL); `wrapper` comes before its command line. False,
 * without a fix, where its command line is not known, or a unit or a container runs it.
 */
bool judge_fix_command(struct judge *judge, const char *name, const char *value, const char *wrapper);

#endif
