#include "bench/client.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/measure.h"
#include "bench/timing.h"
#include "bench/worker.h"

/* Set once and for all by client_interrupt(); relaxed, since nothing else is published with it. */
static _Atomic bool interrupted;

struct phase {
	const struct client_settings *settings;
	struct workload *workload;
	const struct engine *engine;
	void *store;
	bool loading;
	unsigned threads;
	uint64_t operations; /* to do; 0: without end */
	struct measure measure;
	_Atomic bool stop; /* the time is over; relaxed, as above */
	pthread_mutex_t lock;
	pthread_cond_t one_ended;
	unsigned running;	/* under lock */
	struct failure failure; /* of the first thread that failed; under lock */
};

struct thread {
	struct phase *phase;
	pthread_t handle;
	unsigned number;
	uint64_t operations; /* to do; 0: without end */
};

void client_interrupt(void)
{
	atomic_store_explicit(&interrupted, true, memory_order_relaxed);
}

static bool must_stop(const struct phase *phase)
{
	return atomic_load_explicit(&phase->stop, memory_order_relaxed) ||
	       atomic_load_explicit(&interrupted, memory_order_relaxed);
}

/* ---- worker threads ---- */

/* In short steps, so that a slow target does not outlast the end of the phase. */
static void sleep_until(const struct phase *phase, uint64_t deadline_ns)
{
	enum { STEP_NS = 50000000 };
	uint64_t now_ns;

	while ((now_ns = monotonic_ns()) < deadline_ns && !must_stop(phase)) {
		uint64_t left_ns = deadline_ns - now_ns;
		struct timespec step = {.tv_nsec = (long)(left_ns < STEP_NS ? left_ns : STEP_NS)};

		nanosleep(&step, NULL);
	}
}

/* Time between two operations of one thread; 0 without a target. */
static double tick_of(const struct phase *phase)
{
	double target_ops_s = phase->settings->target_ops_s;

	return target_ops_s > 0 ? 1e9 * phase->threads / target_ops_s : 0;
}

static void work(struct thread *thread, struct worker *worker)
{
	struct phase *phase = thread->phase;
	double tick_ns = tick_of(phase);
	uint64_t start_ns = monotonic_ns(), done = 0;

	if (tick_ns > 0) { /* or all threads would do their operations at the same moments */
		start_ns += (uint64_t)(prng_unit(&worker->prng) * tick_ns);
		sleep_until(phase, start_ns);
	}
	while ((!thread->operations || done < thread->operations) && !must_stop(phase)) {
		if (!phase->loading)
			worker_transact(worker);
		else if (!worker_load(worker))
			break;
		measure_done(worker->measure);
		done++;
		if (tick_ns > 0)
			sleep_until(phase, start_ns + (uint64_t)((double)done * tick_ns));
	}
}

static void work_in_session(struct thread *thread, void *session)
{
	struct phase *phase = thread->phase;
	struct worker worker;
	uint64_t start_ns;

	worker_init(&worker, phase->workload, phase->engine, session, &phase->measure.threads[thread->number],
		    thread->number);
	work(thread, &worker);
	start_ns = monotonic_ns();
	phase->engine->session_close(session);
	measure_latency(worker.measure, OP_CLEANUP, monotonic_ns() - start_ns);
	worker_destroy(&worker);
}

static void *thread_main(void *argument)
{
	struct thread *thread = argument;
	struct phase *phase = thread->phase;
	struct failure failure = {0};
	void *session = phase->engine->session_open(phase->store, &failure);

	if (session)
		work_in_session(thread, session);
	pthread_mutex_lock(&phase->lock);
	if (!session)
		failure_set(&phase->failure, failure.exit_status, "%s", failure.text);
	phase->running--;
	pthread_cond_signal(&phase->one_ended);
	pthread_mutex_unlock(&phase->lock);
	return NULL;
}

/* ---- the coordinating thread ---- */

struct progress {
	uint64_t start_ns;
	uint64_t line_ns; /* of the last status line */
	uint64_t line_operations;
};

static void print_status(struct phase *phase, struct progress *progress, uint64_t now_ns)
{
	uint64_t done = measure_operations_done(&phase->measure);
	struct status_line line = {
		.label = phase->settings->label,
		.wall_ms = wall_clock_ms(),
		.elapsed_ms = (int64_t)((now_ns - progress->start_ns) / 1000000),
		.interval_ms = (int64_t)((now_ns - progress->line_ns) / 1000000),
		.operations = done,
		.operations_before = progress->line_operations,
		.operations_left = phase->operations > done ? phase->operations - done : 0,
	};

	measure_print_progress(stderr, &line);
	measure_print_interval(&phase->measure, stderr);
	fputc('\n', stderr);
	progress->line_ns = now_ns;
	progress->line_operations = done;
}

/* Waits until a thread ends or the time has come. Returns the number of threads still running. */
static unsigned wait_until(struct phase *phase, uint64_t deadline_ns)
{
	struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000),
				    .tv_nsec = (long)(deadline_ns % 1000000000)};
	unsigned running;

	pthread_mutex_lock(&phase->lock);
	while (phase->running &&
	       pthread_cond_timedwait(&phase->one_ended, &phase->lock, &deadline) != ETIMEDOUT)
		;
	running = phase->running;
	pthread_mutex_unlock(&phase->lock);
	return running;
}

static void request_stop(struct phase *phase)
{
	atomic_store_explicit(&phase->stop, true, memory_order_relaxed);
	fputs("Maximum time elapsed. Requesting stop for the workload.\nStop requested for workload. Now "
	      "Joining!\n",
	      stderr);
}

static void watch(struct phase *phase, uint64_t start_ns)
{
	const struct client_settings *settings = phase->settings;
	struct progress progress = {.start_ns = start_ns, .line_ns = start_ns};
	uint64_t status_ns = UINT64_MAX, limit_ns = UINT64_MAX;

	if (settings->time_limit_s)
		limit_ns = start_ns + settings->time_limit_s * 1000000000;
	if (settings->status) {
		print_status(phase, &progress, start_ns);
		status_ns = start_ns + settings->status_interval_s * 1000000000;
	}
	while (wait_until(phase, status_ns < limit_ns ? status_ns : limit_ns)) {
		uint64_t now_ns = monotonic_ns();

		/* Where both are due, the last line, as soon as all have ended, is the better one. */
		if (now_ns >= limit_ns)
			request_stop(phase);
		else if (now_ns >= status_ns)
			print_status(phase, &progress, now_ns);
		if (now_ns >= limit_ns)
			limit_ns = UINT64_MAX;
		while (now_ns >= status_ns)
			status_ns += settings->status_interval_s * 1000000000;
	}
	if (settings->status)
		print_status(phase, &progress, monotonic_ns());
}

/* Fewer threads than asked for, where there is not even one operation for each. */
static unsigned useful_threads(const struct phase *phase)
{
	unsigned threads = phase->settings->threads;

	if (!phase->operations || phase->operations >= threads)
		return threads;
	fputs("Warning: the threadcount is bigger than recordcount, the threadcount will be recordcount!\n",
	      stderr);
	return (unsigned)phase->operations;
}

static void start_threads(struct phase *phase, struct thread *threads)
{
	uint64_t each = phase->operations / phase->threads, more = phase->operations % phase->threads;

	for (unsigned i = 0; i < phase->threads; i++) {
		int error;

		threads[i] = (struct thread){.phase = phase, .number = i, .operations = each + (i < more)};
		pthread_mutex_lock(&phase->lock);
		phase->running++;
		pthread_mutex_unlock(&phase->lock);
		error = pthread_create(&threads[i].handle, NULL, thread_main, &threads[i]);
		if (!error)
			continue;
		pthread_mutex_lock(&phase->lock);
		phase->running--;
		failure_set(&phase->failure, EXIT_FAILED, "cannot start thread %u of %u: %s", i + 1,
			    phase->threads, strerror(error));
		pthread_mutex_unlock(&phase->lock);
		threads[i].phase = NULL;
		atomic_store_explicit(&phase->stop, true, memory_order_relaxed);
		return;
	}
}

/* Returns the time it took, in milliseconds. */
static int64_t run_threads(struct phase *phase)
{
	struct thread *threads = must_calloc(phase->threads, sizeof *threads);
	uint64_t start_ns = monotonic_ns(), end_ns;

	start_threads(phase, threads);
	watch(phase, start_ns);
	for (unsigned i = 0; i < phase->threads && threads[i].phase; i++)
		pthread_join(threads[i].handle, NULL);
	end_ns = monotonic_ns();
	free(threads);
	return (int64_t)((end_ns - start_ns) / 1000000);
}

static void init_phase(struct phase *phase)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&phase->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&phase->one_ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static void fill_result(const struct phase *phase, int64_t runtime_ms, struct client_result *result)
{
	*result = (struct client_result){
		.operations = measure_operations_done(&phase->measure),
		.runtime_ms = runtime_ms,
		.interrupted = atomic_load_explicit(&interrupted, memory_order_relaxed),
	};
	for (enum operation operation = 0; operation < OP_COUNT; operation++) {
		result->errors += measure_returned(&phase->measure, operation, STATUS_ERROR);
		result->not_found += measure_returned(&phase->measure, operation, STATUS_NOT_FOUND);
	}
}

bool client_run(const struct client_settings *settings, struct workload *workload,
		const struct engine *engine, void *store, bool loading, FILE *out,
		struct client_result *result, struct failure *failure)
{
	struct phase phase = {.settings = settings,
			      .workload = workload,
			      .engine = engine,
			      .store = store,
			      .loading = loading,
			      .operations = loading ? workload->insert_count : workload->operation_count};
	int64_t runtime_ms;

	phase.threads = useful_threads(&phase);
	init_phase(&phase);
	measure_init(&phase.measure, phase.threads);
	workload_begin(workload, loading);
	if (settings->time_limit_s)
		fprintf(stderr, "Maximum execution time specified as: %" PRIu64 " secs\n",
			settings->time_limit_s);
	runtime_ms = run_threads(&phase);
	workload_end(workload);
	fill_result(&phase, runtime_ms, result);
	if (!phase.failure.exit_status)
		measure_print_export(&phase.measure, out, runtime_ms, settings->percentiles,
				     settings->percentile_count);
	else
		failure_set(failure, phase.failure.exit_status, "%s", phase.failure.text);
	measure_destroy(&phase.measure);
	pthread_cond_destroy(&phase.one_ended);
	pthread_mutex_destroy(&phase.lock);
	return !phase.failure.exit_status;
}
