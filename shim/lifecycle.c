#include "shim/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/bootstrap.h"
#include "shim/capture.h"
#include "shim/config.h"
#include "shim/diag.h"
#include "shim/family.h"
#include "shim/lock_next.h"
#include "shim/locks.h"
#include "shim/looks.h"
#include "shim/mapsnap.h"
#include "shim/modules.h"
#include "shim/process_block.h"
#include "shim/raw.h"
#include "shim/real.h"
#include "shim/refusal.h"
#include "shim/registry.h"
#include "shim/source.h"
#include "shim/stacks.h"
#include "shim/tcmalloc.h"
#include "shim/tracefile.h"
#include "shim/unwind.h"
#include "shim/writer.h"

#define MIB (UINT64_C(1) << 20)

uint32_t hooks_ready;

static struct {
	_Atomic uint32_t phase;
	_Atomic uint32_t finishing; /* somebody ends the trace */
	_Atomic uint32_t finished;  /* and has done so */
	_Atomic uint32_t suspended; /* for an exec: the trace may go on */
	int pid;		    /* of the process that records, or decided not to */
	bool detached;		    /* a child of a traced process that left its parent's session */
	bool wanted;		    /* by mode and name; a child may still be silent */
	bool writer_started;
	uint32_t *alive; /* a page that the kernel wipes in forked children: 0 there */
} life;

enum phase lifecycle_phase(void)
{
	return (enum phase)atomic_load_explicit(&life.phase, memory_order_acquire);
}

static void set_phase(enum phase phase)
{
	atomic_store_explicit(&life.phase, phase, memory_order_release);
}

enum thread_mode lifecycle_mode(void)
{
	return lifecycle_phase() == PHASE_RECORDING ? config.mode : MODE_CLOSED;
}

/* ---- starting
 * ------------------------------------------------------------------------------------------------------ */

static void mark_alive(void)
{
	if (!life.alive) {
		life.alive = raw_reserve(TRACE_PAGE_BYTES);
		if (life.alive)
			raw3(SYS_madvise, (long)life.alive, TRACE_PAGE_BYTES, MADV_WIPEONFORK);
	}
	if (life.alive)
		*life.alive = 1;
	life.pid = raw_pid();
}

static void make_nonce(uint8_t nonce[16])
{
	struct clock_mark now = clock_mark();
	memcpy(nonce, &now, 16); /* where the kernel has no getrandom */
	raw3(SYS_getrandom, (long)nonce, 16, 0);
}

static bool create_files(void)
{
	char path[CONFIG_PATH_BYTES], rings[TRACEFILE_PATH_BYTES];
	uint8_t nonce[16];
	if (!config_trace_path(path, sizeof path)) {
		refusal_say(config.out, -ENAMETOOLONG);
		return false;
	}
	make_nonce(nonce);
	int error = refusal_for_limits(config.ring_mib * MIB);
	if (!error)
		error = tracefile_create(path, nonce, config.max_mib);
	tracefile_rings_path(rings);
	if (!error)
		error = rings_create(rings, nonce, config.ring_mib * MIB);
	if (error) {
		refusal_say(path, error);
		tracefile_discard();
	}
	return !error;
}

static void replay_one(enum event_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct thread *thread = thread_self;
	if (!thread)
		return;
	thread_guard(thread, GUARD_WRITE);
	if (event_is_free((uint8_t)kind))
		capture_free(thread, kind, address);
	else
		capture_allocation(thread, kind, address, size_bytes);
	thread_unguard(thread);
}

/* Everything but the writer thread. Leaves the phase RECORDING or SILENT. */
static void start_recording(void)
{
	clock_start();
	if (!create_files()) {
		set_phase(PHASE_SILENT);
		return;
	}
	stacks_start();
	sampling_start(config.sample_bytes);
	cpucount_start();
	if (config.stack_depth > 0)
		unwind_start();
	else
		modules_refresh();
	capture_stack_depth = strcmp(unwind_name(), "none") ? config.stack_depth : 0;
	source_start();
	source_warn();
	tcmalloc_find();
	process_block_write();
	mapsnap_take_whole();
	tracefile_close();
	locks_start();
	registry_start();
	set_phase(PHASE_RECORDING);
	registry_attach(false);
	if (thread_self && capture_stack_depth)
		unwind_warm(thread_self); /* what it does once a process, here */
	bootstrap_replay(replay_one);
}

static void start_writer(void)
{
	if (lifecycle_phase() != PHASE_RECORDING || life.writer_started)
		return;
	life.writer_started = writer_start();
	if (!life.writer_started)
		diag("the writer thread could not be created: only what fits the rings (%llu MiB) is "
		     "recorded",
		     (unsigned long long)config.ring_mib);
}

static bool should_record(void)
{
	life.wanted = config.mode != MODE_CLOSED && config_glob(config.exe_glob, config_exe_name());
	bool child = family_parent_is_traced();
	life.detached = child && family_is_session_leader();
	return life.wanted && (config.children || life.detached || !child);
}

/* Set by a relative relocation, so equal to its own address only once this object is relocated. */
static const void *volatile const relocation_probe = (const void *)&relocation_probe;

static bool is_relocated(void)
{
	return relocation_probe == (const void *)&relocation_probe;
}

/* What this object's own reference to malloc is bound to, against our definition by a name that nobody can
 * interpose. */
extern __typeof__(malloc) malloc_hook SHIM_LOCAL;
static void *(*const volatile bound_malloc)(size_t) = malloc;

bool lifecycle_malloc_is_ours(void)
{
	return bound_malloc == malloc_hook;
}

void lifecycle_set_errno(int error)
{
	if (is_relocated())
		errno = error;
}

static void start(char **environment)
{
	real_resolve();
	lock_next_resolve();
	lock_next_resolve_atomics();
	locks_state = LOCKS_OFF;
	hooks_ready = 1;
	diag_start();
	config_read(environment);
	mark_alive();
	if (should_record())
		start_recording();
	else
		set_phase(PHASE_SILENT);
	/* What we looked up in vain is no news for the guest, should it ask; the second call frees the text.
	 */
	dlerror();
	dlerror();
}

/* One caller starts; a nested or concurrent one is told to use the arena for now. */
static bool start_once(char **environment)
{
	uint32_t early = PHASE_EARLY;
	if (!atomic_compare_exchange_strong(&life.phase, &early, PHASE_STARTING))
		return false;
	start(environment);
	return true;
}

__attribute__((noinline)) bool lifecycle_start_early(void)
{
	if (!is_relocated() || !environ)
		return false;
	int error = errno;
	start_once(environ);
	errno = error;
	return hooks_ready;
}

/* ---- ending
 * -------------------------------------------------------------------------------------------------------- */

bool lifecycle_is_forked_child(void)
{
	return life.alive ? *life.alive == 0 : raw_pid() != life.pid;
}

static bool is_vfork_child(void)
{
	return raw_pid() != life.pid && !lifecycle_is_forked_child();
}

#define FINISH_WAIT_MS 5000

static void wait_for_finish(void)
{
	struct timespec pause = {0, 1000000};
	for (int waited = 0; !atomic_load(&life.finished) && waited < FINISH_WAIT_MS; waited++)
		raw2(SYS_nanosleep, (long)&pause, 0);
}

/* Not in the rings file, which is being copied while the exec fails. */
static _Atomic uint64_t stopped[COUNTER_COUNT];

bool lifecycle_is_suspended(void)
{
	return atomic_load_explicit(&life.suspended, memory_order_acquire) && raw_pid() == life.pid;
}

enum thread_mode lifecycle_mode_suspended(void)
{
	return config.mode;
}

/* Also at the next end, for a call that looked before and counted after the trace went on. */
static void take_over_stopped(void)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		rings_count_shared((enum counter)i, atomic_exchange(&stopped[i], 0));
}

/* The trace may have gone on since the caller looked. */
void lifecycle_count_stopped(enum counter counter, uint64_t n)
{
	atomic_fetch_add(&stopped[counter], n);
	if (!atomic_load(&life.suspended) && lifecycle_phase() == PHASE_RECORDING)
		take_over_stopped();
}

bool lifecycle_finish(enum end_reason reason, int status)
{
	enum phase phase = lifecycle_phase();
	if ((phase != PHASE_RECORDING && phase != PHASE_STOPPED) || lifecycle_is_forked_child() ||
	    is_vfork_child() || writer_is_self())
		return false;
	if (atomic_exchange(&life.finishing, 1)) {
		wait_for_finish(); /* another thread ends the process too: not before the trace is whole */
		return false;
	}
	int error = errno;
	struct thread *thread = thread_enter_region();
	if (thread)
		capture_event(thread, COUNTER_EVENTS_LIFE,
			      &(struct trace_event){.kind = EVENT_EXIT,
						    .args = {(uint64_t)(uint32_t)status, reason}});
	take_over_stopped();
	atomic_store(&life.suspended, reason == END_EXEC);
	set_phase(PHASE_STOPPED);
	registry_set_mode(MODE_CLOSED);
	writer_finish(reason, status);
	atomic_store(&life.finished, 1);
	errno = error;
	return true;
}

void lifecycle_resume(void)
{
	registry_wait_for_hooks(); /* the rings move to another file */
	writer_resume();
	registry_set_mode(config.mode);
	set_phase(PHASE_RECORDING);
	atomic_store(&life.suspended, 0);
	take_over_stopped();
	atomic_store(&life.finished, 0);
	atomic_store(&life.finishing, 0);
}

/*
 * Another thread that calls exit() meanwhile takes the next handler, and would end the process where there is
 * none, in the middle of our work: it finds this one again, which then waits for whoever came first.
 */
#define EXITS_AT_ONCE 4

static void at_exit(int status, void *argument)
{
	if (atomic_load(&life.finishing) && !atomic_load(&life.finished))
		on_exit(at_exit, argument);
	lifecycle_finish(END_EXIT, status);
}

static void at_quick_exit_last(void *argument)
{
	(void)argument;
	lifecycle_finish(END_QUICK_EXIT, 0);
}

extern int __cxa_at_quick_exit(void (*function)(void *), void *object);

/* Registered before the guest registers anything, so run after all of it, destructors included. */
static void register_exit_handlers(void)
{
	for (int i = 0; i < EXITS_AT_ONCE; i++)
		on_exit(at_exit, NULL);
	__cxa_at_quick_exit(at_quick_exit_last, NULL);
}

__attribute__((constructor)) static void constructor(int argc, char **argv, char **environment)
{
	(void)argc;
	(void)argv;
	int error = errno;
	register_exit_handlers();
	start_once(environment);
	start_writer();
	errno = error;
}

/* ---- children
 * ------------------------------------------------------------------------------------------------------ */

/* Everything that belongs to the parent's trace is let go; a trace of this process's own begins. */
static void start_anew(void)
{
	thread_self = NULL;
	rings_forget();
	stacks_forget();
	sampling_forget();
	locks_forget();
	looks_forget();
	writer_forget();
	modules_after_fork();
	life.writer_started = false;
	atomic_store(&life.finished, 0);
	atomic_store(&life.finishing, 0);
	mark_alive();
	start_recording();
	start_writer();
}

/* Only the first fork can be the second half of a daemon's double fork. */
bool lifecycle_is_detaching(void)
{
	bool detaching = lifecycle_phase() == PHASE_RECORDING && life.detached && registry_live() == 1;
	life.detached = false;
	return detaching;
}

void lifecycle_after_fork(bool detaching)
{
	enum phase phase = lifecycle_phase();
	if (phase != PHASE_RECORDING && phase != PHASE_SILENT && phase != PHASE_STOPPED)
		return;
	int error = errno;
	life.pid = raw_pid();
	if (life.alive)
		*life.alive = 0;
	rings_forget_threads();
	locks_forget();
	if (life.wanted && (config.children || detaching))
		start_anew();
	else
		set_phase(PHASE_SILENT);
	errno = error;
}

void lifecycle_after_detach(void)
{
	if (!life.wanted || is_vfork_child())
		return;
	bool silent = lifecycle_phase() == PHASE_SILENT || lifecycle_is_forked_child();
	if (!silent)
		return;
	int error = errno;
	life.detached = true;
	start_anew();
	errno = error;
}

bool lifecycle_records_here(void)
{
	if (lifecycle_phase() != PHASE_RECORDING)
		return false;
	if (raw_pid() == life.pid)
		return true;
	if (lifecycle_is_forked_child())
		set_phase(PHASE_SILENT);
	return false;
}
