#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support_shim.h"

#define MIB (UINT64_C(1) << 20)

static const volatile uint32_t cpu_zero;

static void count_all(struct thread *thread, uint64_t n)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		thread_count_n(thread, (enum counter)i, n + i);
}

static void assert_totals(uint64_t n, unsigned threads)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		cr_assert_eq(rings_total((enum counter)i), n + threads * i, "counter %u", i);
}

/* Threads come and go, in another order; nothing of them is forgotten or counted twice. */
Test(ring_slots, sums_stay_when_threads_go)
{
	support_rings(MIB);
	struct thread *threads[3];
	for (unsigned i = 0; i < 3; i++) {
		threads[i] = support_ring_thread(&cpu_zero);
		count_all(threads[i], UINT64_C(100) << i);
	}
	assert_totals(700, 3);
	rings_release_slot(threads[1]);
	assert_totals(700, 3);
	rings_release_slot(threads[2]);
	assert_totals(700, 3);
	struct thread *next = support_ring_thread(&cpu_zero);
	assert_totals(700, 3);
	count_all(next, 1000);
	rings_release_slot(threads[0]);
	assert_totals(1700, 4);
	rings_release_slot(next);
	assert_totals(1700, 4);
}

Test(ring_slots, shared_counters_are_part_of_the_sum)
{
	rings_count_shared(COUNTER_FREE, 1000); /* before there are rings: nowhere to count */
	support_rings(MIB);
	rings_count_shared(COUNTER_FREE, 5);
	rings_count_shared(COUNTER_FREE, 2);
	struct thread *thread = support_ring_thread(&cpu_zero);
	thread_count_n(thread, COUNTER_FREE, 30);
	cr_assert_eq(rings_shared(COUNTER_FREE), 7);
	cr_assert_eq(rings_total(COUNTER_FREE), 37);
	rings_release_slot(thread);
	cr_assert_eq(rings_shared(COUNTER_FREE), 7);
	cr_assert_eq(rings_total(COUNTER_FREE), 37);
}

/* A slot that was used before starts at zero, with a number that was never used. */
Test(ring_slots, a_slot_is_used_again)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	uint32_t index = thread->index, id = thread->id;
	thread->stack_cache[7] = (struct stack_cache_entry){1, 2};
	cr_assert(support_ring_write(thread, 1, 0x1000, 8));
	ring_hand_over(thread);
	rings_release_slot(thread);
	thread = support_ring_thread(&cpu_zero);
	cr_assert_eq(thread->index, index);
	cr_assert_eq(thread->id, id + 1);
	cr_assert_eq(thread->slot->thread, id + 1);
	cr_assert_eq(thread->next_sequence, 0);
	cr_assert_eq(thread->stack_cache[7].hash, 0);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		cr_assert_eq(atomic_load(&thread->slot->counters[i]), 0);
}

/* Counters of a thread that said that it ends still count: its last destructors may run. */
Test(ring_slots, an_ended_thread_counts)
{
	support_rings(MIB);
	struct thread *thread = support_ring_thread(&cpu_zero);
	count_all(thread, 10);
	atomic_store(&thread->slot->state, SLOT_ENDED);
	assert_totals(10, 1);
	rings_release_slot(thread);
	assert_totals(10, 1);
}

/* ---- a kill at any moment
 * ------------------------------------------------------------------------------------------- */

/* The sum as a reader of the dead process's file makes it. */
static uint64_t sum_in_file(const struct rings_header *header, enum counter counter)
{
	uint64_t epoch = atomic_load(&header->retired_epoch);
	uint64_t sum =
		header->retired_counters[epoch % 2][counter] + atomic_load(&header->shared_counters[counter]);
	const uint8_t *extent = (const uint8_t *)header + header->extents_offset;
	for (uint32_t i = 0; i < header->extents_count; i++, extent += RINGS_EXTENT_BYTES) {
		const struct ring_slot *slots = (const struct ring_slot *)extent;
		for (unsigned k = 0;
		     header->extent_kinds[i] == EXTENT_SLOTS && k < RINGS_EXTENT_BYTES / SLOT_BYTES; k++)
			if (ring_slot_counts(&slots[k], epoch))
				sum += atomic_load(&slots[k].counters[counter]);
	}
	return sum;
}

static bool single_step(pid_t child, int *status)
{
	return ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 && waitpid(child, status, 0) == child &&
	       WIFSTOPPED(*status) && WSTOPSIG(*status) == SIGTRAP;
}

/* The child stops itself, then gives back its slot. */
static pid_t start_releasing(struct thread *thread)
{
	pid_t child = fork();
	if (child != 0)
		return child;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(77);
	raise(SIGSTOP);
	rings_release_slot(thread);
	_exit(0);
}

/* What was seen on the way, in numbers of instructions. */
struct moments {
	unsigned announced; /* retired_at is set, the epoch not yet */
	unsigned folded;    /* the epoch is set, the counters still stand in the slot */
	bool gone;	    /* only the free stack is left to do */
};

static void look(const struct rings_header *header, const struct ring_slot *slot, uint64_t epoch,
		 struct moments *moments)
{
	uint64_t epoch_now = atomic_load(&header->retired_epoch), retired_at = atomic_load(&slot->retired_at);
	moments->announced += epoch_now == epoch && retired_at == epoch + 1;
	moments->folded += epoch_now == epoch + 1 && atomic_load(&slot->counters[COUNTER_COUNT - 1]) != 0;
	moments->gone = epoch_now == epoch + 1 && atomic_load(&slot->state) == SLOT_FREE && retired_at == 0;
}

/* Sums by all counters at every instruction, up to the free stack: that has a loop of load and store
 * exclusive on some machines, which never ends where it is stepped through. */
static struct moments step_through(pid_t child, const struct rings_header *header,
				   const struct ring_slot *slot)
{
	struct moments moments = {0};
	uint64_t epoch = atomic_load(&header->retired_epoch), expected[COUNTER_COUNT];
	int status;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		expected[i] = rings_total((enum counter)i);
	for (unsigned steps = 0; !moments.gone && steps < 100000; steps++) {
		for (unsigned i = 0; i < COUNTER_COUNT; i++)
			cr_assert_eq(sum_in_file(header, (enum counter)i), expected[i], "counter %u, step %u",
				     i, steps);
		cr_assert(single_step(child, &status), "status %x", (unsigned)status);
		look(header, slot, epoch, &moments);
	}
	return moments;
}

Test(ring_slots, a_kill_at_any_instruction_finds_all_counters_once)
{
	static struct thread copy; /* a child finds the structures themselves wiped */
	int status, fd = support_rings(MIB);
	struct thread *before = support_ring_thread(&cpu_zero), *thread = support_ring_thread(&cpu_zero);
	count_all(before, 1000);
	rings_release_slot(before);
	count_all(thread, 100);
	count_all(support_ring_thread(&cpu_zero), 7);
	const struct rings_header *header = mmap(NULL, MIB, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert_neq((const void *)header, MAP_FAILED);
	copy = *thread;
	pid_t child = start_releasing(&copy);
	cr_assert_eq(waitpid(child, &status, 0), child);
	if (!WIFSTOPPED(status) || !single_step(child, &status))
		cr_skip_test("processes cannot be traced here");
	struct moments moments = step_through(child, header, thread->slot);
	cr_assert(moments.gone);
	cr_assert_gt(moments.announced, 0);
	cr_assert_gt(moments.folded, 0);
	cr_assert_eq(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
