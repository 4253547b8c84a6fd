#include "tests/unit/support_locks.h"

#include <stdlib.h>

#include "tests/unit/support_trace_internal.h"

uint64_t support_locks(struct support_trace *trace, uint64_t time, const struct lock_record *records,
		       size_t count, uint32_t flags)
{
	const struct locks_header header = {.time = SUPPORT_START_TIME + time,
					    .end_time = SUPPORT_START_TIME + time,
					    .records = (uint32_t)count,
					    .flags = flags};
	size_t bytes = sizeof header + count * sizeof *records;
	uint8_t *payload = malloc(bytes);
	SUPPORT_CHECK(payload);
	memcpy(payload, &header, sizeof header);
	for (size_t i = 0; i < count; i++) {
		struct lock_record record = records[i];
		record.opened += SUPPORT_START_TIME;
		memcpy(payload + sizeof header + i * sizeof record, &record, sizeof record);
	}
	uint64_t offset = support_block_from(trace, time, BLOCK_LOCKS, payload, (uint32_t)bytes);
	free(payload);
	return offset;
}

void support_lock_event(struct support_trace *trace, uint8_t event, uint32_t thread, uint64_t time,
			uint64_t length, enum lock_kind kind, uint64_t weight, uint32_t stack_id)
{
	bool waits = event == EVENT_LOCK_WAIT;
	time += SUPPORT_START_TIME;
	support_event(trace, &(struct trace_event){.kind = event,
						   .thread = thread,
						   .time = time,
						   .end_time = waits ? time + length : time,
						   .address = 0x5000,
						   .size_bytes = weight,
						   .args = {kind, LOCK_CALL_LOCK, waits ? 0 : length},
						   .stack_id = stack_id});
}

struct support_locks_read support_locks_open(const char *path, bool each)
{
	struct error error = {0};
	struct support_locks_read read = {.trace = trace_open(path, &error)};
	SUPPORT_CHECK(read.trace);
	read.locks = locks_read(read.trace, each, NULL, &read.regions, &error);
	SUPPORT_CHECK(read.locks);
	return read;
}

void support_locks_close(struct support_locks_read *read)
{
	locks_close(read->locks);
	regions_close(read->regions);
	trace_close(read->trace);
}
