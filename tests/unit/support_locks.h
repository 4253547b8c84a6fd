/* Records of locks for tests. Times count from SUPPORT_START_TIME. */
#ifndef MTRACE_SUPPORT_LOCKS_H
#define MTRACE_SUPPORT_LOCKS_H

#include "analyzer/locksums.h"
#include "tests/unit/support_trace.h"

/* A block that was read at `time`, of `count` records whose `opened` counts from the start, too. Returns its
 * offset in the file. */
uint64_t support_locks(struct support_trace *trace, uint64_t time, const struct lock_record *records,
		       size_t count, uint32_t flags);

/* A call chosen by chance: kind EVENT_LOCK_HOLD or EVENT_LOCK_WAIT, standing for `weight` calls. */
void support_lock_event(struct support_trace *trace, uint8_t event, uint32_t thread, uint64_t time,
			uint64_t length, enum lock_kind kind, uint64_t weight, uint32_t stack_id);

/* The trace at `path`, read: close with support_locks_close(). */
struct support_locks_read {
	struct trace *trace;
	struct regions *regions;
	struct locks *locks;
};
struct support_locks_read support_locks_open(const char *path, bool each);
void support_locks_close(struct support_locks_read *read);

#endif
