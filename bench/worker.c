#include "bench/worker.h"

#include <stdlib.h>
#include <string.h>

#include "bench/timing.h"

void worker_init(struct worker *worker, struct workload *workload, const struct engine *engine, void *session,
		 struct measure_thread *measure, unsigned thread)
{
	uint64_t limit = keyspace_limit(&workload->keyspace);

	*worker = (struct worker){
		.workload = workload, .engine = engine, .session = session, .measure = measure};
	prng_seed(&worker->prng, workload->seed, thread);
	latest_init(&worker->latest, limit ? limit : 1); /* a load begins with none, and chooses none */
	worker->values = must_calloc(workload->field_count, workload->field_bytes);
	worker->fields = must_calloc(workload->field_count, sizeof *worker->fields);
	for (uint32_t i = 0; i < workload->field_count; i++)
		worker->fields[i] = (struct field_view){
			.name = workload->field_names[i],
			.value = worker->values + (size_t)i * workload->field_bytes,
			.name_bytes = (uint32_t)strlen(workload->field_names[i]),
			.value_bytes = workload->field_bytes,
		};
}

void worker_destroy(struct worker *worker)
{
	free(worker->values);
	free(worker->fields);
	free(worker->results);
}

/* Printable characters, eight at a time: 6 random bits each, so the engine's compression finds little. */
static void fill_random(struct prng *prng, char *out, size_t bytes)
{
	while (bytes) {
		uint64_t chunk =
			(prng_next(prng) & UINT64_C(0x3F3F3F3F3F3F3F3F)) + UINT64_C(0x2020202020202020);
		size_t step = bytes < 8 ? bytes : 8;

		memcpy(out, &chunk, step);
		out += step;
		bytes -= step;
	}
}

/* ---- what a client does with a document ---- */

struct reading {
	struct worker *worker;
	const char *only; /* the one field wanted, or NULL for all */
};

static void *copy_document(const struct reading *reading, const void *value, size_t bytes,
			   const char **reason)
{
	void *copy;

	if (reading->worker->workload->copy == COPY_FIELDS)
		return record_decode(value, bytes, reading->only, reason);
	if (!record_check(value, bytes, reason))
		return NULL;
	copy = malloc(bytes);
	if (copy)
		memcpy(copy, value, bytes);
	else
		*reason = "out of memory";
	return copy;
}

static bool keep_result(struct worker *worker, void *copy)
{
	if (worker->result_count == worker->result_room) {
		uint64_t room = worker->result_room ? worker->result_room * 2 : 16;
		void **grown = realloc(worker->results, room * sizeof *grown);

		if (!grown)
			return false;
		worker->results = grown;
		worker->result_room = room;
	}
	worker->results[worker->result_count++] = copy;
	return true;
}

static void free_copy(const struct worker *worker, void *copy)
{
	if (worker->workload->copy == COPY_FIELDS)
		record_free(copy);
	else
		free(copy);
}

static bool take_document(void *context, const void *value, size_t bytes)
{
	struct reading *reading = context;
	const char *reason = "out of memory";
	void *copy = copy_document(reading, value, bytes, &reason);

	if (copy && keep_result(reading->worker, copy))
		return true;
	if (copy)
		free_copy(reading->worker, copy);
	engine_complain(reading->worker->engine, "read", reason);
	return false;
}

static void drop_results(struct worker *worker)
{
	for (uint64_t i = 0; i < worker->result_count; i++)
		free_copy(worker, worker->results[i]);
	worker->result_count = 0;
}

struct change {
	struct worker *worker;
	uint32_t first; /* of worker->fields */
	uint32_t count;
};

static void *change_document(void *context, const void *value, size_t bytes, size_t *new_bytes)
{
	struct change *change = context;
	const char *reason = "";
	void *changed = record_change(value, bytes, change->worker->fields + change->first, change->count,
				      new_bytes, &reason);

	if (!changed)
		engine_complain(change->worker->engine, "update", reason);
	return changed;
}

/* ---- operations ---- */

static void choose_key(struct worker *worker, char key[KEY_BYTES])
{
	key_name(key, worker_choose(worker), &worker->workload->naming);
}

uint64_t worker_choose(struct worker *worker)
{
	struct workload *workload = worker->workload;
	uint64_t limit = keyspace_limit(&workload->keyspace), number;

	if (workload->distribution == REQUEST_LATEST)
		return latest_next(&worker->latest, limit, &worker->prng);
	do
		number = workload->insert_start +
			 (workload->distribution == REQUEST_UNIFORM
				  ? prng_below(&worker->prng, workload->insert_count)
				  : scrambled_next(&workload->scrambled, &worker->prng));
	while (number >= limit);
	return number;
}

static const char *choose_read_field(struct worker *worker)
{
	struct workload *workload = worker->workload;

	return workload->read_all_fields
		       ? NULL
		       : workload->field_names[prng_below(&worker->prng, workload->field_count)];
}

static struct change choose_change(struct worker *worker)
{
	struct workload *workload = worker->workload;
	struct change change = {.worker = worker, .first = 0, .count = workload->field_count};

	if (!workload->write_all_fields) {
		change.first = (uint32_t)prng_below(&worker->prng, workload->field_count);
		change.count = 1;
	}
	fill_random(&worker->prng, worker->values + (size_t)change.first * workload->field_bytes,
		    (size_t)change.count * workload->field_bytes);
	return change;
}

static uint64_t choose_scan_length(struct worker *worker)
{
	struct workload *workload = worker->workload;

	if (workload->scan_zipfian)
		return workload->scan_min + zipfian_next(&workload->scan_lengths, &worker->prng);
	return workload->scan_min + prng_below(&worker->prng, workload->scan_max - workload->scan_min + 1);
}

static void measured_read(struct worker *worker, const char *key, const char *only)
{
	struct reading reading = {worker, only};
	uint64_t start_ns = monotonic_ns();
	enum op_status status = worker->engine->read(worker->session, key, take_document, &reading);

	drop_results(worker);
	measure_operation(worker->measure, OP_READ, status, monotonic_ns() - start_ns);
}

static void measured_update(struct worker *worker, const char *key, struct change change)
{
	uint64_t start_ns = monotonic_ns();
	enum op_status status = worker->engine->update(worker->session, key, change_document, &change);

	measure_operation(worker->measure, OP_UPDATE, status, monotonic_ns() - start_ns);
}

static enum op_status measured_insert(struct worker *worker, uint64_t number)
{
	struct workload *workload = worker->workload;
	char key[KEY_BYTES];
	enum op_status status = STATUS_ERROR;
	uint64_t start_ns;
	size_t bytes;
	void *document;

	key_name(key, number, &workload->naming);
	fill_random(&worker->prng, worker->values, (size_t)workload->field_count * workload->field_bytes);
	start_ns = monotonic_ns();
	document = record_encode(worker->fields, workload->field_count, &bytes);
	if (document)
		status = worker->engine->insert(worker->session, key, document, bytes);
	else
		engine_complain(worker->engine, "insert", "out of memory");
	free(document);
	measure_operation(worker->measure, OP_INSERT, status, monotonic_ns() - start_ns);
	return status;
}

static void transact_scan(struct worker *worker)
{
	struct reading reading = {worker, choose_read_field(worker)};
	uint64_t length = choose_scan_length(worker), start_ns;
	char key[KEY_BYTES];
	enum op_status status;

	choose_key(worker, key);
	start_ns = monotonic_ns();
	status = worker->engine->scan(worker->session, key, length, take_document, &reading);
	drop_results(worker);
	measure_operation(worker->measure, OP_SCAN, status, monotonic_ns() - start_ns);
}

static void transact_read_modify_write(struct worker *worker, const char *key)
{
	const char *only = choose_read_field(worker);
	struct change change = choose_change(worker);
	uint64_t start_ns = monotonic_ns();

	measured_read(worker, key, only);
	measured_update(worker, key, change);
	measure_latency(worker->measure, OP_READ_MODIFY_WRITE, monotonic_ns() - start_ns);
}

static void transact_insert(struct worker *worker)
{
	struct keyspace *keyspace = &worker->workload->keyspace;
	uint64_t number = keyspace_take(keyspace);

	measured_insert(worker, number);
	keyspace_acknowledge(keyspace, number);
}

bool worker_load(struct worker *worker)
{
	uint64_t number = atomic_fetch_add_explicit(&worker->workload->next_load, 1, memory_order_relaxed);

	return measured_insert(worker, number) == STATUS_OK;
}

void worker_transact(struct worker *worker)
{
	char key[KEY_BYTES];

	switch (weighted_next(&worker->workload->chooser, &worker->prng)) {
	case OP_READ:
		choose_key(worker, key);
		measured_read(worker, key, choose_read_field(worker));
		break;
	case OP_UPDATE:
		choose_key(worker, key);
		measured_update(worker, key, choose_change(worker));
		break;
	case OP_INSERT:
		transact_insert(worker);
		break;
	case OP_SCAN:
		transact_scan(worker);
		break;
	default:
		choose_key(worker, key);
		transact_read_modify_write(worker, key);
	}
}
