/* Who owns rseq: from events, from counters, from both. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyzer/rseq.h"
#include "tests/unit/support_trace.h"

#define SECOND UINT64_C(1000000000)

static struct rseq_watch watch;

static void event(uint32_t thread, uint64_t time, uint64_t flags, int error)
{
	struct trace_event event = {.kind = EVENT_RSEQ,
				    .time = SUPPORT_START_TIME + time,
				    .thread = thread,
				    .result = -error,
				    .args = {flags, 0x53053053}};
	cr_assert(rseq_watch_event(&watch, &event));
}

/* A trace whose process block says `owner`, with counters of so many attempts and failures. */
static struct trace *trace_of(const char *owner, uint64_t attempts, uint64_t failures)
{
	const char *path = support_path("rseq.mtr");
	struct support_trace *support =
		support_open(path, &(struct support_options){.full = true, .rseq_owner = owner});
	support_count(support, COUNTER_RSEQ, attempts);
	support_count(support, COUNTER_RSEQ_FAILED, failures);
	support_end(support, 10 * SECOND);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert_not_null(trace);
	return trace;
}

static struct rseq_verdict verdict_of(const char *owner, uint64_t attempts, uint64_t failures,
				      bool with_events)
{
	struct trace *trace = trace_of(owner, attempts, failures);
	struct rseq_verdict verdict = rseq_judge(trace, with_events ? &watch : NULL);
	trace_close(trace);
	rseq_watch_free(&watch);
	return verdict;
}

#define UNREGISTER 1

Test(rseq, nobody_tried)
{
	struct rseq_verdict none = verdict_of("none", 0, 0, true), glibc = verdict_of("glibc", 0, 0, true);
	cr_assert_str_eq(none.owner, "none");
	cr_assert(isnan(none.since_s));
	cr_assert_eq(none.possible, -1, "nobody knows");
	cr_assert_str_eq(glibc.owner, "glibc");
	cr_assert_eq(glibc.since_s, 0);
	cr_assert_eq(glibc.possible, 0);
}

Test(rseq, the_program_registers)
{
	event(1, 2 * SECOND, 0, 0);
	event(2, 3 * SECOND, 0, 0);
	event(2, 4 * SECOND, 0, EBUSY);
	struct rseq_verdict verdict = verdict_of("none", 3, 1, true);
	cr_assert_str_eq(verdict.owner, "application");
	cr_assert_float_eq(verdict.since_s, 2, 1e-9);
	cr_assert_eq(verdict.possible, 1);
	cr_assert_eq(verdict.first_failure_errno, EBUSY);
}

Test(rseq, a_first_failure_is_not_the_last_word)
{
	event(1, 1 * SECOND, 0, EINVAL);
	event(1, 2 * SECOND, 0, 0);
	event(1, 3 * SECOND, 0, EPERM);
	struct rseq_verdict verdict = verdict_of("none", 3, 2, true);
	cr_assert_str_eq(verdict.owner, "application");
	cr_assert_float_eq(verdict.since_s, 2, 1e-9);
	cr_assert_eq(verdict.first_failure_errno, EINVAL);
}

Test(rseq, glibc_was_first)
{
	event(1, 1 * SECOND, 0, EINVAL);
	struct rseq_verdict verdict = verdict_of("glibc", 1, 1, true);
	cr_assert_str_eq(verdict.owner, "glibc");
	cr_assert_eq(verdict.first_failure_errno, EINVAL);
	cr_assert_eq(verdict.possible, 0);
	cr_assert_not_null(strstr(verdict.text, "EINVAL"), "%s", verdict.text);
	cr_assert_not_null(strstr(verdict.text, "glibc.pthread.rseq=0"), "%s", verdict.text);
}

Test(rseq, refused_without_an_owner)
{
	event(1, 1 * SECOND, 0, ENOSYS);
	struct rseq_verdict verdict = verdict_of("none", 1, 1, true);
	cr_assert_str_eq(verdict.owner, "none");
	cr_assert_eq(verdict.possible, 0);
	cr_assert_eq(verdict.first_failure_errno, ENOSYS);
}

Test(rseq, unregistered_in_every_thread)
{
	event(1, 1 * SECOND, 0, 0);
	event(2, 1 * SECOND, 0, 0);
	event(1, 2 * SECOND, UNREGISTER, 0);
	event(2, 2 * SECOND, UNREGISTER, EINVAL); /* this one keeps it */
	cr_assert_eq(watch.registered_now, 1);
	event(2, 3 * SECOND, UNREGISTER, 0);
	event(2, 4 * SECOND, UNREGISTER, 0);
	struct rseq_verdict verdict = verdict_of("none", 2, 0, true);
	cr_assert_str_eq(verdict.owner, "none");
	cr_assert(isnan(verdict.since_s));
	cr_assert_eq(verdict.possible, 1);
}

/* A program may unregister glibc's area to have its own. */
Test(rseq, taken_from_glibc)
{
	event(1, 1 * SECOND, UNREGISTER, 0);
	event(1, 2 * SECOND, 0, 0);
	struct rseq_verdict verdict = verdict_of("glibc", 1, 0, true);
	cr_assert_str_eq(verdict.owner, "application");
	cr_assert_float_eq(verdict.since_s, 2, 1e-9);
}

/* A flight recorder has overwritten them: the counters still know. */
Test(rseq, events_that_are_gone)
{
	event(7, 5 * SECOND, 0, 0);
	struct rseq_verdict verdict = verdict_of("none", 4, 1, true);
	cr_assert_str_eq(verdict.owner, "application");
	cr_assert(isnan(verdict.since_s), "the first one is not among the events");
	cr_assert_eq(verdict.first_failure_errno, 0, "nor is the failure");
}

Test(rseq, counters_alone)
{
	struct rseq_verdict verdict = verdict_of("none", 4, 1, false);
	cr_assert_str_eq(verdict.owner, "application");
	cr_assert(isnan(verdict.since_s));
	verdict = verdict_of("glibc", 4, 4, false);
	cr_assert_str_eq(verdict.owner, "glibc");
	verdict = verdict_of("none", 1, 1, false);
	cr_assert_str_eq(verdict.owner, "none");
	cr_assert_eq(verdict.possible, 0);
}

/* Memory follows the threads that registered, and each keeps its own state. */
Test(rseq, many_threads)
{
	for (uint32_t thread = 1; thread <= 1000; thread++)
		event(thread, thread * 1000, 0, 0);
	for (uint32_t thread = 1; thread <= 1000; thread += 2)
		event(thread, SECOND + thread * 1000, UNREGISTER, 0);
	cr_assert_eq(watch.registered_now, 500);
	cr_assert_eq(watch.count, 1000);
	rseq_watch_free(&watch);
}
