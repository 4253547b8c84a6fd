#include "shim/cpucount.h"

#include <stddef.h>
#include <string.h>

#include "shim/clock.h"
#include "shim/config.h"
#include "shim/raw.h"
#include "shim/ring.h"
#include "shim/smallfile.h"
#include "shim/text.h"
#include "shim/tracefile.h"

#define POSSIBLE       "/sys/devices/system/cpu/possible"
#define CPUS_OTHERWISE 1024u /* where the machine does not say how many there can be */
#define CPUS_MOST      8192u
#define BUFFER_BYTES   (64u << 10)
#define READINGS       8 /* of the rows, until none is settled meanwhile */
#define LEVEL	       1

/* What a CPU's calls came to: settled, and with what is not settled yet. */
struct row {
	_Atomic uint64_t calls[CPU_CALLS];
	struct own_step steps[SIZE_STEPS];
};
struct sum {
	uint64_t calls[CPU_CALLS];
	struct step_count steps[SIZE_STEPS];
};
_Static_assert(sizeof(struct row) == sizeof(struct sum), "a row can be copied to a sum");

static struct {
	uint32_t cpus; /* rows but the last, which is for calls on a CPU that is not known */
	struct row *rows;
	struct sum *sums;	       /* the writer's */
	uint64_t *told;		       /* sum of calls when the row was last written */
	_Atomic uint8_t *used;	       /* the row is not empty */
	_Atomic uint64_t begun, ended; /* settlements */
	bool want_whole;
} table;

/* ---- by the guest's threads ---- */

static uint32_t row_of(uint32_t cpu)
{
	return cpu < table.cpus ? cpu : table.cpus;
}

static uint64_t counter_of(const struct thread *thread, enum counter counter)
{
	return atomic_load_explicit(&thread->slot->counters[counter], memory_order_relaxed);
}

/* What the slot's counters say of the calls that are told by CPU. */
static void read_calls(const struct thread *thread, uint64_t calls[CPU_CALLS])
{
	calls[CPU_ALLOCS] = counter_of(thread, COUNTER_MALLOC) + counter_of(thread, COUNTER_CALLOC) +
			    counter_of(thread, COUNTER_NEW) + counter_of(thread, COUNTER_ALIGNED);
	calls[CPU_ALLOC_BYTES] = counter_of(thread, COUNTER_ALLOC_BYTES);
	calls[CPU_REALLOCS] = counter_of(thread, COUNTER_REALLOC);
	calls[CPU_REALLOC_BYTES] = counter_of(thread, COUNTER_REALLOC_BYTES);
	calls[CPU_FREES] = counter_of(thread, COUNTER_FREE) + counter_of(thread, COUNTER_DELETE);
	calls[CPU_ARRIVALS] = thread->arrivals;
}

static void add(_Atomic uint64_t *sum, uint64_t n)
{
	if (n)
		atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

static void move_steps(struct thread *thread, struct row *row)
{
	for (unsigned i = 0; i < SIZE_STEPS; i++) {
		struct own_step *from = &thread->steps[i];
		uint64_t allocs = atomic_load_explicit(&from->allocs, memory_order_relaxed);
		if (!allocs)
			continue;
		add(&row->steps[i].allocs, allocs);
		add(&row->steps[i].bytes, atomic_load_explicit(&from->bytes, memory_order_relaxed));
		atomic_store_explicit(&from->allocs, 0, memory_order_relaxed);
		atomic_store_explicit(&from->bytes, 0, memory_order_relaxed);
	}
}

/* A reader between the two counts knows that it saw half of it. */
static void settle(struct thread *thread, uint32_t cpu)
{
	uint64_t calls[CPU_CALLS];
	const uint32_t index = row_of(thread->counted_cpu);
	atomic_fetch_add(&table.begun, 1);
	atomic_store_explicit(&table.used[index], 1, memory_order_relaxed);
	read_calls(thread, calls);
	for (unsigned i = 0; i < CPU_CALLS; i++)
		add(&table.rows[index].calls[i], calls[i] - thread->settled[i]);
	memcpy(thread->settled, calls, sizeof calls);
	move_steps(thread, &table.rows[index]);
	thread->arrivals += cpu != thread->counted_cpu && cpu < table.cpus && index < table.cpus;
	thread->counted_cpu = cpu;
	atomic_fetch_add(&table.ended, 1);
}

__attribute__((noinline)) void cpucount_settle(struct thread *thread)
{
	uint32_t cpu = *thread->cpu_id;
	if (table.rows)
		settle(thread, cpu);
	else
		thread->counted_cpu = cpu;
}

void cpucount_enter(struct thread *thread)
{
	thread->counted_cpu = *thread->cpu_id;
}

/* ---- by the writer ---- */

void cpucount_leave(struct thread *thread)
{
	if (table.rows)
		settle(thread, thread->counted_cpu);
}

static uint64_t calls_of(const struct sum *sum)
{
	uint64_t calls = 0;
	for (unsigned i = 0; i < CPU_CALLS; i++)
		calls += sum->calls[i];
	return calls;
}

static void add_unsettled(struct thread *thread)
{
	uint64_t calls[CPU_CALLS];
	const uint32_t index = row_of(thread->counted_cpu);
	struct sum *sum = &table.sums[index];
	atomic_store_explicit(&table.used[index], 1, memory_order_relaxed);
	read_calls(thread, calls);
	for (unsigned i = 0; i < CPU_CALLS; i++)
		sum->calls[i] += calls[i] - thread->settled[i];
	for (unsigned i = 0; i < SIZE_STEPS; i++) {
		sum->steps[i].allocs += atomic_load_explicit(&thread->steps[i].allocs, memory_order_relaxed);
		sum->steps[i].bytes += atomic_load_explicit(&thread->steps[i].bytes, memory_order_relaxed);
	}
}

/* True where nothing was settled meanwhile. */
static bool read_rows(void)
{
	uint64_t begun = atomic_load(&table.begun);
	bool calm = begun == atomic_load(&table.ended);
	for (uint32_t i = 0; i <= table.cpus; i++)
		if (atomic_load_explicit(&table.used[i], memory_order_relaxed))
			memcpy(&table.sums[i], &table.rows[i], sizeof table.sums[i]);
	for (uint32_t i = 0; i < rings_slots_end(); i++)
		if (atomic_load_explicit(&rings_slot(i)->state, memory_order_acquire) != SLOT_FREE)
			add_unsettled(rings_thread(i));
	atomic_thread_fence(memory_order_seq_cst);
	return calm && atomic_load(&table.begun) == begun;
}

static struct {
	_Alignas(8) uint8_t bytes[BUFFER_BYTES];
	size_t used;
} block;

static struct cpus_header *header(void)
{
	return (struct cpus_header *)block.bytes;
}

static void begin_block(uint64_t time, uint32_t flags)
{
	*header() = (struct cpus_header){.time = time, .flags = flags};
	block.used = sizeof(struct cpus_header);
}

static void write_block(uint32_t flags)
{
	header()->flags |= flags;
	header()->end_time = clock_now();
	tracefile_append(BLOCK_CPUS, block.bytes, block.used,
			 (struct block_times){header()->time, header()->end_time}, LEVEL);
	begin_block(header()->time, header()->flags & ~CPUS_LAST);
}

static unsigned steps_of(const struct sum *sum)
{
	unsigned steps = SIZE_STEPS;
	while (steps && !sum->steps[steps - 1].allocs)
		steps--;
	return steps;
}

static void put_sum(uint32_t index)
{
	const struct sum *sum = &table.sums[index];
	struct cpu_record record = {.cpu = index < table.cpus ? index : EVENT_CPU_UNKNOWN,
				    .steps = steps_of(sum)};
	const size_t steps_bytes = record.steps * sizeof sum->steps[0];
	memcpy(record.calls, sum->calls, sizeof record.calls);
	if (block.used + sizeof record + steps_bytes > sizeof block.bytes)
		write_block(0);
	memcpy(block.bytes + block.used, &record, sizeof record);
	memcpy(block.bytes + block.used + sizeof record, sum->steps, steps_bytes);
	block.used += sizeof record + steps_bytes;
	header()->cpus++;
}

static void put_sums(bool whole)
{
	for (uint32_t i = 0; i <= table.cpus; i++) {
		uint64_t calls = table.used[i] ? calls_of(&table.sums[i]) : 0;
		if (!calls || (!whole && calls == table.told[i]))
			continue;
		table.told[i] = calls;
		put_sum(i);
	}
}

void cpucount_write(void)
{
	const bool whole = table.want_whole;
	const uint64_t time = clock_now();
	if (!table.rows || config.mode != MODE_SAMPLE)
		return;
	bool calm = read_rows();
	for (int i = 1; i < READINGS && !calm; i++)
		calm = read_rows();
	begin_block(time, (calm ? CPUS_EXACT : 0) | (whole ? CPUS_WHOLE : 0));
	put_sums(whole);
	if (whole || header()->cpus)
		write_block(CPUS_LAST);
	table.want_whole = false;
}

void cpucount_want_whole(void)
{
	table.want_whole = true;
}

/* ---- life ---- */

/* One more than the highest number: the last one of the list. */
static uint32_t possible_cpus(void)
{
	char text[512];
	long length = smallfile_read(POSSIBLE, text, sizeof text);
	while (length > 0 && (text[length - 1] < '0' || text[length - 1] > '9'))
		length--;
	while (length > 0 && text[length - 1] >= '0' && text[length - 1] <= '9')
		length--;
	const char *last = text + (length > 0 ? length : 0);
	uint64_t cpus = text_number(&last, 10) + 1;
	return last == text ? CPUS_OTHERWISE : cpus < CPUS_MOST ? (uint32_t)cpus : CPUS_MOST;
}

static bool reserve(void)
{
	const size_t rows = table.cpus + 1;
	if (!table.rows)
		table.rows = raw_reserve(rows *
					 (2 * sizeof *table.rows + sizeof *table.told + sizeof *table.used));
	if (!table.rows)
		return false;
	table.sums = (struct sum *)(table.rows + rows);
	table.told = (uint64_t *)(table.sums + rows);
	table.used = (_Atomic uint8_t *)(table.told + rows);
	return true;
}

void cpucount_start(void)
{
	if (config.mode != MODE_SAMPLE)
		return;
	if (!table.cpus)
		table.cpus = possible_cpus();
	if (!reserve())
		return;
	for (uint32_t i = 0; i <= table.cpus; i++) {
		if (!atomic_exchange(&table.used[i], 0))
			continue;
		memset(&table.rows[i], 0, sizeof table.rows[i]);
		memset(&table.sums[i], 0, sizeof table.sums[i]);
		table.told[i] = 0;
	}
	atomic_store(&table.begun, 0);
	atomic_store(&table.ended, 0);
}
