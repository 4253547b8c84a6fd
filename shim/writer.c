#include "shim/writer.h"

#include <errno.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "shim/clock.h"
#include "shim/config.h"
#include "shim/gather.h"
#include "shim/keyframe.h"
#include "shim/looks.h"
#include "shim/raw.h"
#include "shim/real.h"
#include "shim/registry.h"
#include "shim/ring.h"
#include "shim/tracefile.h"
#include "shim/writer_files.h"

#define NS_PER_MS      UINT64_C(1000000)
#define MIB	       (1u << 20)
#define TICK_NS	       (250 * NS_PER_MS)
#define TICK_BLOCKS    (4 * MIB / GATHER_BLOCK_BYTES) /* a tick is due after so many, too */
#define FINISH_WAIT_NS (5000 * NS_PER_MS)
#define RESUME_WAIT_NS (1000 * NS_PER_MS)
#define START_WAIT_NS  (1000 * NS_PER_MS)
#define STACK_BYTES    (512u << 10)

enum command {
	COMMAND_NONE = 0,
	COMMAND_FINISH = 1,
	COMMAND_FINISHED = 2,
	COMMAND_RESUME = 3,
	COMMAND_RETIRE = 4,
	COMMAND_RETIRED = 5,
};

static struct {
	_Atomic uint32_t command;
	_Atomic uint32_t sleeping; /* futex word: 1 while the writer sleeps */
	_Atomic uint32_t ready;	   /* the thread has its own descriptors */
	bool prepared, has_thread;
	uint32_t kernel_tid;
	enum end_reason reason;
	int status;

	uint64_t next_tick_ns;
	uint64_t request_time,
		watermark; /* time units: when threads were last asked to hand over, and the time before */
	uint64_t marked_blocks; /* events blocks written when the last mark was */
	struct thread self;	/* makes the hooks pass this thread through */
} writer;

bool writer_is_self(void)
{
	return thread_self == &writer.self;
}

/* ---- ticks
 * -------------------------------------------------------------------------------------------------------- */

/* What a thread still holds since the last request it will only hand over with its next event: take it as it
 * lies. */
static void take_from_idle(struct thread *thread)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_acquire);
	if (chunk && atomic_load_explicit(&thread->limit, memory_order_relaxed) == NULL)
		gather_chunk(chunk);
}

static void ask_for_chunk(struct thread *thread)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_acquire);
	if (chunk && atomic_load_explicit(&chunk->committed, memory_order_relaxed) > *rings_flushed(chunk))
		atomic_store_explicit(&thread->limit, NULL, memory_order_relaxed);
}

static void for_each_thread(void (*visit)(struct thread *))
{
	uint32_t end = rings_slots_end();
	for (uint32_t index = 0; index < end; index++)
		if (atomic_load_explicit(&rings_slot(index)->state, memory_order_acquire) != SLOT_FREE)
			visit(rings_thread(index));
}

static void write_mark(void)
{
	struct clock_mark mark = clock_mark();
	mark.watermark = writer.watermark;
	tracefile_append(BLOCK_MARK, &mark, sizeof mark, (struct block_times){mark.time, mark.time},
			 TRACEFILE_PLAIN);
	writer.marked_blocks = gather_blocks();
}

static void tick(uint64_t now_ns)
{
	for_each_thread(take_from_idle);
	bool all = gather_ready();
	gather_write();
	if (gather_blocks() != writer.marked_blocks)
		write_mark();
	registry_reap();
	if (all)
		writer.watermark = writer.request_time;
	writer.request_time = clock_now();
	for_each_thread(ask_for_chunk);
	writer.next_tick_ns = now_ns + TICK_NS;
}

/* Events wait in a reader's memory until the mark that follows the next one: a fast guest gets its marks by
 * volume. */
static bool tick_due(uint64_t now_ns)
{
	return now_ns >= writer.next_tick_ns || gather_blocks() - writer.marked_blocks >= TICK_BLOCKS;
}

/* ---- the end
 * ------------------------------------------------------------------------------------------------------ */

static void take_all(struct thread *thread)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_acquire);
	if (chunk)
		gather_chunk(chunk);
}

static void write_end(void)
{
	struct end_record end = {
		.mark = clock_mark(), .reason = (uint32_t)writer.reason, .status = writer.status};
	end.mark.watermark = end.mark.time;
	if (!tracefile_append(BLOCK_END, &end, sizeof end, (struct block_times){end.mark.time, end.mark.time},
			      TRACEFILE_PLAIN))
		return;
	tracefile_end();
	writer_files_drop_rings();
}

/* Hooks that were past the look at their thread's mode when recording was closed: they need some hundred
 * nanoseconds. */
static void let_hooks_end(void)
{
	struct timespec pause = {0, 200000};
	if (registry_live() > 1)
		raw2(SYS_nanosleep, (long)&pause, 0);
}

static void finish(void)
{
	let_hooks_end();
	gather_ready();
	for_each_thread(take_all);
	gather_write();
	writer.watermark = clock_now();
	looks_finish();
	keyframe_write_threads();
	if (config.max_mib || rings_shared(COUNTER_LOST_DISK))
		keyframe_write_all();
	/* An end record is small, and may find room where the last counters found none: a trace without them
	 * is not complete, and the rings stay, which have them. */
	if (looks_write_snapshot(writer.watermark))
		write_end();
}

/* ---- the thread
 * ----------------------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static void sleep_until(uint64_t due_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (due_ns <= now_ns)
		return;
	atomic_store(&writer.sleeping, 1);
	/* Looked at after `sleeping` is set: who changes them afterwards wakes us. */
	uint32_t command = atomic_load(&writer.command);
	bool work = command == COMMAND_FINISH || command == COMMAND_RETIRE || (rings_low() && rings_ready());
	if (!work)
		raw_futex_wait(&writer.sleeping, 1, due_ns - now_ns);
	atomic_store(&writer.sleeping, 0);
}

/* The end record is the end no more once a block stands behind it. */
static void resume(void)
{
	writer_files_remake_rings();
	looks_want_whole(); /* the last one may have been broken off */
	write_mark();
	atomic_store(&writer.command, COMMAND_NONE);
	raw_futex_wake(&writer.command);
}

static void obey(void)
{
	if (atomic_load(&writer.command) != COMMAND_FINISH)
		return;
	uint32_t command = COMMAND_FINISH;
	finish();
	/* Something else stands there where nobody waited until now. */
	atomic_compare_exchange_strong(&writer.command, &command, COMMAND_FINISHED);
	raw_futex_wake(&writer.command);
	while (atomic_load(&writer.command) == COMMAND_FINISHED)
		raw_futex_wait(&writer.command, COMMAND_FINISHED, FINISH_WAIT_NS);
	if (atomic_load(&writer.command) == COMMAND_RESUME)
		resume();
}

/* The path must be good for as long as the guest lives, whatever it does to its working directory or root. */
static void set_up_thread(void)
{
	raw_block_guest_signals();
	thread_self = &writer.self;
	raw2(SYS_prctl, PR_SET_NAME, (long)"mtrace-writer");
	raw1(SYS_unshare, CLONE_FS);
	writer_files_own();
	atomic_store(&writer.ready, 1);
	raw_futex_wake(&writer.ready);
}

/* The guest's last thread left past every hook of ours. As the last one we end the process, with the leader's
 * status. */
static void end_with_guest(void)
{
	writer.reason = END_EXIT;
	registry_set_mode(MODE_CLOSED);
	finish();
	for (;;)
		raw1(SYS_exit, registry_last_exit());
}

static void *writer_main(void *argument)
{
	(void)argument;
	writer.kernel_tid = (uint32_t)raw_tid();
	set_up_thread();
	for (;;) {
		bool all = gather_ready();
		rings_provide(writer_files_rings());
		uint64_t now_ns = clock_monotonic_ns();
		if (all && tick_due(now_ns)) {
			if (registry_guest_is_gone())
				end_with_guest();
			tick(now_ns);
		}
		if (all && looks_take(now_ns, writer.watermark))
			writer.marked_blocks = gather_blocks();
		obey();
		if (atomic_load(&writer.command) == COMMAND_RETIRE)
			break;
		sleep_until(earlier(looks_next_ns(), writer.next_tick_ns));
	}
	writer_files_close();
	atomic_store(&writer.command, COMMAND_RETIRED);
	return NULL;
}

static bool prepare(void)
{
	if (!gather_start())
		return false;
	writer.next_tick_ns = clock_monotonic_ns();
	looks_start(writer.next_tick_ns);
	writer.watermark = writer.request_time = 0;
	writer.prepared = true;
	return true;
}

static bool create_thread(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	int result = real.pthread_create(&thread, &attributes, writer_main, NULL);
	if (result == EINVAL) { /* thread-local storage of the guest is larger than that stack */
		pthread_attr_destroy(&attributes);
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		result = real.pthread_create(&thread, &attributes, writer_main, NULL);
	}
	pthread_attr_destroy(&attributes);
	return result == 0;
}

bool writer_start(void)
{
	uint64_t signals;
	if (!prepare())
		return false;
	raw_block_signals(&signals);
	struct outer_guard outer = {0};
	if (thread_self)
		outer = thread_guard_inside(thread_self, GUARD_CALL); /* what it allocates is ours */
	if (thread_self)
		thread_self->in_shim = true;
	writer.has_thread = create_thread();
	if (thread_self) {
		thread_self->in_shim = false;
		thread_guard_back(thread_self, outer);
	}
	raw_restore_signals(&signals);
	if (writer.has_thread && !atomic_load(&writer.ready))
		raw_futex_wait(&writer.ready, 0, START_WAIT_NS);
	return writer.has_thread;
}

void writer_wake(void)
{
	if (atomic_load(&writer.sleeping) && atomic_exchange(&writer.sleeping, 0))
		raw_futex_wake(&writer.sleeping);
}

/* ---- called by the guest's threads
 * --------------------------------------------------------------------------------- */

static void finish_here(void)
{
	if (!writer.prepared && !prepare())
		return;
	writer_files_open();
	finish();
	writer_files_close();
	atomic_store(&writer.command, COMMAND_FINISHED);
}

static void wait_while(enum command command, uint64_t most_ns)
{
	uint64_t deadline_ns = clock_monotonic_ns() + most_ns;
	while (writer.has_thread && !writer_is_self() && atomic_load(&writer.command) == (uint32_t)command) {
		uint64_t now_ns = clock_monotonic_ns();
		if (now_ns >= deadline_ns)
			return;
		raw_futex_wait(&writer.command, command, deadline_ns - now_ns);
	}
}

bool writer_finish(enum end_reason reason, int status)
{
	writer.reason = reason;
	writer.status = status;
	if (!writer.has_thread) {
		finish_here();
		return true;
	}
	atomic_store(&writer.command, COMMAND_FINISH);
	writer_wake();
	wait_while(COMMAND_FINISH, FINISH_WAIT_NS);
	return atomic_load(&writer.command) != COMMAND_FINISH;
}

/* Whether the thread is gone for libc too is only seen by its kernel thread being gone. */
static bool thread_is_gone(void)
{
	return atomic_load(&writer.command) == COMMAND_RETIRED &&
	       raw3(SYS_tgkill, raw_pid(), (long)writer.kernel_tid, 0) == -ESRCH;
}

void writer_retire(void)
{
	if (!writer.has_thread)
		return;
	uint32_t none = COMMAND_NONE;
	if (!atomic_compare_exchange_strong(&writer.command, &none, COMMAND_RETIRE))
		return;
	writer_wake();
	struct timespec pause = {0, 100000};
	for (uint64_t waited_ns = 0; !thread_is_gone() && waited_ns < FINISH_WAIT_NS; waited_ns += 100000)
		raw2(SYS_nanosleep, (long)&pause, 0);
	writer.has_thread = !thread_is_gone();
}

void writer_resume(void)
{
	if (!writer.has_thread) {
		writer_files_open();
		resume();
		writer_files_close();
		return;
	}
	atomic_store(&writer.command, COMMAND_RESUME);
	raw_futex_wake(&writer.command);
	wait_while(COMMAND_RESUME, RESUME_WAIT_NS);
}

void writer_forget(void)
{
	memset(&writer, 0, sizeof writer);
}
