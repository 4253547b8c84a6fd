#include "bench/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- configuration ---- */

/* Counts beyond this are typing errors, and sums of them must not overflow. */
#define COUNT_MOST (UINT64_C(1) << 48)

static bool read_counts(struct workload *workload, struct properties *properties, bool has_time_limit,
			struct failure *failure)
{
	if (!properties_count(properties, "recordcount", 1000, 1, COUNT_MOST, &workload->record_count,
			      failure) ||
	    !properties_count(properties, "insertstart", 0, 0, COUNT_MOST, &workload->insert_start, failure))
		return false;
	if (workload->insert_start >= workload->record_count)
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "property insertstart=%" PRIu64
				   ": expected less than recordcount=%" PRIu64,
				   workload->insert_start, workload->record_count);
	if (!properties_count(properties, "insertcount", workload->record_count - workload->insert_start, 1,
			      COUNT_MOST, &workload->insert_count, failure))
		return false;
	if (workload->insert_count > workload->record_count - workload->insert_start)
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "property insertcount=%" PRIu64 ": insertstart=%" PRIu64
				   " and it together pass recordcount=%" PRIu64,
				   workload->insert_count, workload->insert_start, workload->record_count);
	if (!properties_count(properties, "operationcount", has_time_limit ? 0 : 1000, 0, COUNT_MOST,
			      &workload->operation_count, failure))
		return false;
	if (!workload->operation_count && !has_time_limit)
		return failure_set(
			failure, EXIT_WRONG_USAGE,
			"property operationcount=0: a run without end needs maxexecutiontime=SECONDS");
	return true;
}

static bool read_mix(struct workload *workload, struct properties *properties, struct failure *failure)
{
	static const char *const names[MIX_COUNT] = {"readproportion", "updateproportion", "insertproportion",
						     "scanproportion", "readmodifywriteproportion"};
	static const double defaults[MIX_COUNT] = {0.60, 0.25, 0, 0.15, 0};

	for (unsigned i = 0; i < MIX_COUNT; i++)
		if (!properties_real(properties, names[i], defaults[i], 0, 1e9, &workload->mix[i], failure))
			return false;
	if (!weighted_init(&workload->chooser, workload->mix, MIX_COUNT))
		return failure_set(
			failure, EXIT_WRONG_USAGE,
			"properties readproportion, updateproportion, insertproportion, scanproportion and "
			"readmodifywriteproportion are all 0: give at least one a weight");
	return true;
}

static bool read_requests(struct workload *workload, struct properties *properties, struct failure *failure)
{
	static const char *const distributions[] = {"zipfian", "uniform", "latest", NULL};
	static const char *const lengths[] = {"uniform", "zipfian", NULL};
	static const char *const orders[] = {"hashed", "ordered", NULL};
	unsigned scan_distribution, order;
	uint64_t padding;

	if (!properties_choice(properties, "requestdistribution", REQUEST_ZIPFIAN, distributions,
			       &workload->distribution, failure) ||
	    !properties_count(properties, "maxscanlength", 1000, 1, COUNT_MOST, &workload->scan_max,
			      failure) ||
	    !properties_count(properties, "minscanlength", 1, 1, workload->scan_max, &workload->scan_min,
			      failure) ||
	    !properties_choice(properties, "scanlengthdistribution", 0, lengths, &scan_distribution,
			       failure) ||
	    !properties_choice(properties, "insertorder", 0, orders, &order, failure) ||
	    !properties_count(properties, "zeropadding", 1, 1, KEY_PADDING_MOST, &padding, failure) ||
	    !properties_count(properties, "seed", 1, 0, UINT64_MAX, &workload->seed, failure))
		return false;
	workload->scan_zipfian = scan_distribution == 1;
	workload->naming = (struct key_naming){.hashed = order == 0, .padding = (unsigned)padding};
	return true;
}

static bool read_documents(struct workload *workload, struct properties *properties, struct failure *failure)
{
	enum { DOCUMENT_MOST_MIB = 64 };
	static const char *const constant[] = {"constant", NULL}, *const copies[] = {"field", "document",
										     NULL};
	uint64_t count, bytes;
	unsigned only_constant;

	if (!properties_count(properties, "fieldcount", 10, 1, 100000, &count, failure) ||
	    !properties_count(properties, "fieldlength", 100, 1, UINT32_MAX, &bytes, failure) ||
	    !properties_choice(properties, "fieldlengthdistribution", 0, constant, &only_constant, failure) ||
	    !properties_flag(properties, "readallfields", true, &workload->read_all_fields, failure) ||
	    !properties_flag(properties, "writeallfields", false, &workload->write_all_fields, failure) ||
	    !properties_choice(properties, "clientcopy", COPY_DOCUMENT, copies, &workload->copy, failure))
		return false;
	if (count * bytes > (uint64_t)DOCUMENT_MOST_MIB << 20)
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "properties fieldcount=%" PRIu64 " and fieldlength=%" PRIu64
				   " make documents larger than %d MiB: make one of them smaller",
				   count, bytes, DOCUMENT_MOST_MIB);
	workload->field_count = (uint32_t)count;
	workload->field_bytes = (uint32_t)bytes;
	return true;
}

/*
 * The keys of the run: those loaded and, for the Zipfian, twice the inserts expected, since its hash must not
 * change while keys are added (YCSB's "fudge factor"); worker_choose() skips what is not there yet.
 */
static void make_generators(struct workload *workload)
{
	double total = 0, inserts;

	for (unsigned i = 0; i < MIX_COUNT; i++)
		total += workload->mix[i];
	inserts = workload->mix[OP_INSERT] / total * (double)workload->operation_count * 2;
	scrambled_init(&workload->scrambled, workload->insert_count + (uint64_t)inserts);
	zipfian_init(&workload->scan_lengths, workload->scan_max - workload->scan_min + 1, ZIPFIAN_THETA);
}

bool workload_init(struct workload *workload, struct properties *properties, bool has_time_limit,
		   struct failure *failure)
{
	*workload = (struct workload){0};
	if (!read_counts(workload, properties, has_time_limit, failure) ||
	    !read_mix(workload, properties, failure) || !read_requests(workload, properties, failure) ||
	    !read_documents(workload, properties, failure))
		return false;
	make_generators(workload);
	workload->field_names = must_calloc(workload->field_count, sizeof *workload->field_names);
	for (uint32_t i = 0; i < workload->field_count; i++)
		snprintf(workload->field_names[i], sizeof *workload->field_names, "field%" PRIu32, i);
	return true;
}

void workload_destroy(struct workload *workload)
{
	free(workload->field_names);
}

void workload_begin(struct workload *workload, bool loading)
{
	atomic_store_explicit(&workload->next_load, workload->insert_start, memory_order_relaxed);
	keyspace_init(&workload->keyspace, loading ? workload->insert_start : workload->record_count);
}

void workload_end(struct workload *workload)
{
	keyspace_destroy(&workload->keyspace);
}
