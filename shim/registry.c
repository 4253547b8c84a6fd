#include "shim/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <stdio.h>

#include "shim/capture.h"
#include "shim/cpucount.h"
#include "shim/keyframe.h"
#include "shim/lifecycle.h"
#include "shim/lockblock.h"
#include "shim/locks.h"
#include "shim/raw.h"
#include "shim/ring.h"
#include "shim/unwind.h"
#include "shim/writer.h"

/* glibc calls destructors in up to four rounds; the key sets itself again until the last. */
#define DESTRUCTOR_ROUNDS 4

__thread struct thread *thread_self;

static pthread_key_t exit_key;
static bool exit_key_valid;
static _Atomic uint32_t guest_threads; /* that have been started, or met, and have not said good-bye */
static const volatile uint32_t cpu_unknown = EVENT_CPU_UNKNOWN;

/* ---- rseq
 * -----------------------------------------------------------------------------------------------------------
 */

/* glibc 2.35 and backports say where the area is; before relocation of this library nothing of it is needed.
 */
static const volatile uint32_t *glibc_cpu_id(void)
{
	static const ptrdiff_t *offset;
	static const unsigned *size;
	static bool looked;
	if (!looked) {
		offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
		size = dlsym(RTLD_DEFAULT, "__rseq_size");
		looked = true;
	}
	if (!offset || !size || *size == 0)
		return NULL;
	/* struct rseq: cpu_id_start, cpu_id */
	return (const volatile uint32_t *)(arch_thread_pointer() + *offset + sizeof(uint32_t));
}

bool registry_glibc_owns_rseq(void)
{
	return glibc_cpu_id() != NULL;
}

void registry_set_rseq(struct thread *thread, const volatile uint32_t *cpu_id)
{
	thread->cpu_id = cpu_id ? cpu_id : &cpu_unknown;
}

/* ---- coming and going
 * ----------------------------------------------------------------------------------------------- */

static void say_goodbye(struct thread *thread)
{
	raw2(SYS_prctl, PR_GET_NAME, (long)thread->slot->name);
	struct trace_event event = {.kind = EVENT_THREAD_EXIT};
	capture_event(thread, COUNTER_EVENTS_LIFE, &event);
	thread_guard(thread, GUARD_WRITE);
	ring_hand_over(thread);
	thread_unguard(thread);
	atomic_store_explicit(&thread->slot->exit_time, event.time, memory_order_relaxed);
	/* Release: the reaper sees the last counts. */
	atomic_store_explicit(&thread->slot->state, SLOT_ENDED, memory_order_release);
}

static void on_thread_exit(void *argument)
{
	struct thread *thread = argument;
	if (thread != thread_self || thread->mode == MODE_CLOSED)
		return;
	if (++thread->exit_rounds < DESTRUCTOR_ROUNDS)
		pthread_setspecific(exit_key, thread);
	else {
		say_goodbye(thread);
		registry_thread_gone();
	}
}

void registry_thread_created(void)
{
	atomic_fetch_add(&guest_threads, 1);
}

void registry_thread_gone(void)
{
	if (atomic_fetch_sub(&guest_threads, 1) == 1)
		writer_retire();
}

void registry_start(void)
{
	atomic_store(&guest_threads, 0);
	if (!exit_key_valid)
		exit_key_valid = pthread_key_create(&exit_key, on_thread_exit) == 0;
}

static void set_up(struct thread *thread)
{
	const volatile uint32_t *cpu_id = glibc_cpu_id();
	struct ring_slot *slot = thread->slot;
	registry_set_rseq(thread, cpu_id);
	slot->kernel_tid = (uint32_t)raw_tid();
	slot->start_time = clock_now();
	atomic_store_explicit(&slot->exit_time, 0, memory_order_relaxed);
	raw2(SYS_prctl, PR_GET_NAME, (long)slot->name);
	thread->codec.cpu = *thread->cpu_id;
	cpucount_enter(thread);
	thread->random = (slot->start_time << 20 ^ thread->id) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	capture_first_draw(thread);
	/* Release: whoever sees the slot in use sees what is in it. */
	atomic_store_explicit(&slot->state, SLOT_LIVE, memory_order_release);
}

struct thread *registry_attach(bool counted)
{
	int error = errno;
	struct thread *thread = rings_take_slot();
	if (!thread)
		return NULL;
	set_up(thread);
	locks_attach(thread);
	if (!counted)
		registry_thread_created();
	thread->mode = (uint8_t)lifecycle_mode();
	thread_guard(thread, GUARD_CALL); /* what follows may allocate: that is ours, not the guest's */
	thread->in_shim = true;
	thread_self = thread;
	if (exit_key_valid)
		pthread_setspecific(exit_key, thread);
	thread->in_shim = false;
	thread_unguard(thread);
	struct trace_event event = {.kind = EVENT_THREAD_START,
				    .time = thread->slot->start_time,
				    .address = HOOK_FRAME(),
				    .args = {thread->slot->kernel_tid}};
	capture_event(thread, COUNTER_THREAD_START, &event);
	errno = error;
	return thread;
}

void registry_set_mode(enum thread_mode mode)
{
	uint32_t end = rings_slots_end();
	for (uint32_t i = 0; i < end; i++)
		if (atomic_load_explicit(&rings_slot(i)->state, memory_order_acquire) != SLOT_FREE)
			rings_thread(i)->mode = (uint8_t)mode;
}

static bool somebody_is_inside(void)
{
	const volatile struct thread *self = thread_self;
	uint32_t end = rings_slots_end();
	for (uint32_t i = 0; i < end; i++) {
		const volatile struct thread *thread = rings_thread(i);
		if (atomic_load_explicit(&rings_slot(i)->state, memory_order_acquire) == SLOT_LIVE &&
		    thread != self && thread->guard != GUARD_NONE)
			return true;
	}
	return false;
}

#define HOOKS_WAIT_STEPS 100u
#define HOOKS_CALM_STEPS 5u
#define HOOKS_STEP_NS	 1000000

/* Calm for some time: a thread may have looked at its mode, lost its CPU, and not yet said that it is inside.
 */
void registry_wait_for_hooks(void)
{
	struct timespec step = {0, HOOKS_STEP_NS};
	for (unsigned i = 0, calm = 0; i < HOOKS_WAIT_STEPS && calm < HOOKS_CALM_STEPS; i++) {
		calm = somebody_is_inside() ? 0 : calm + 1;
		raw2(SYS_nanosleep, (long)&step, 0);
	}
}

unsigned registry_live(void)
{
	unsigned live = 0;
	uint32_t end = rings_slots_end();
	for (uint32_t i = 0; i < end; i++)
		live += atomic_load_explicit(&rings_slot(i)->state, memory_order_relaxed) == SLOT_LIVE;
	return live;
}

/* ---- the guest as a whole -------------------------------------------------------------------------- */

/* Neither gone nor a zombie (a leader that ended before the others stays as one). */
static bool task_runs(uint32_t tid)
{
	char path[64], text[256];
	snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
	int fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0) /* gone; or there is no /proc */
		return raw3(SYS_tgkill, raw_pid(), tid, 0) != -ESRCH;
	long length = raw_read(fd, text, sizeof text - 1);
	raw_close(fd);
	text[length > 0 ? length : 0] = '\0';
	const char *state = strrchr(text, ')');
	return !state || !state[1] || (state[2] != 'Z' && state[2] != 'X');
}

static _Atomic int last_exit;

void registry_note_exit(int status)
{
	atomic_store(&last_exit, status);
}

int registry_last_exit(void)
{
	return atomic_load(&last_exit);
}

bool registry_guest_is_gone(void)
{
	uint32_t end = rings_slots_end();
	bool seen = false;
	if (rings_shared(COUNTER_LOST_NO_THREAD))
		return false; /* some are not known to us */
	for (uint32_t i = 0; i < end; i++) {
		struct ring_slot *slot = rings_slot(i);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_LIVE)
			continue;
		seen = true;
		if (task_runs(slot->kernel_tid))
			return false;
	}
	return seen && atomic_load(&guest_threads) <= registry_live();
}

/* ---- reaping
 * -------------------------------------------------------------------------------------------------------- */

static bool is_gone(const struct ring_slot *slot)
{
	return raw3(SYS_tgkill, raw_pid(), (long)slot->kernel_tid, 0) == -ESRCH;
}

static void reap(struct thread *thread)
{
	struct ring_slot *slot = thread->slot;
	struct thread_record record = {.thread = slot->thread,
				       .kernel_tid = slot->kernel_tid,
				       .start_time = slot->start_time,
				       .exit_time =
					       atomic_load_explicit(&slot->exit_time, memory_order_relaxed)};
	memcpy(record.name, slot->name, sizeof record.name);
	keyframe_add_thread(&record);
	lockblock_take_gone(thread);
	ring_hand_over(thread); /* what its last destructors recorded after the good-bye */
	cpucount_leave(thread);
	rings_release_slot(thread);
}

void registry_reap(void)
{
	uint32_t end = rings_slots_end();
	for (uint32_t i = 0; i < end; i++) {
		struct ring_slot *slot = rings_slot(i);
		/* Acquire: the thread's last counts. */
		uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
		if (state == SLOT_ENDED && is_gone(slot))
			reap(rings_thread(i));
	}
}
