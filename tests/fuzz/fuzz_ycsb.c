/* Any text is read as YCSB's or refused with a reason; what was read is in order and within its bounds, can
 * be audited, and put together with itself. */
#include "analyzer/ycsb_audit.h"
#include "analyzer/ycsb_clients.h"
#include "tests/fuzz/fuzz.h"

static void check_operation(const struct ycsb_operation *operation)
{
	require(memchr(operation->name, 0, sizeof operation->name));
	for (size_t i = 0; i < operation->percentile_count; i++)
		require(operation->percentiles[i].percentile >= 0 &&
			operation->percentiles[i].percentile <= 100);
	for (size_t i = 1; i < operation->bucket_count; i++)
		require(operation->buckets[i].at > operation->buckets[i - 1].at);
	for (size_t i = 0; i < operation->return_count; i++)
		require(memchr(operation->returns[i].name, 0, sizeof operation->returns[i].name));
}

static void check_run(const struct ycsb_run *run)
{
	require(run->interval_count <= YCSB_INTERVALS_MAX);
	require(memchr(run->client, 0, sizeof run->client) &&
		memchr(run->clock_text, 0, sizeof run->clock_text));
	require(isnan(run->error_rate) || (run->error_rate >= 0 && run->error_rate <= 1));
	for (size_t i = 0; i < run->operation_kinds; i++)
		check_operation(&run->operations[i]);
	for (size_t i = 0; i < run->interval_count; i++) {
		const struct ycsb_interval *interval = &run->intervals[i];
		require(interval->end_s > interval->start_s);
		require(isnan(interval->ops_s) || interval->ops_s >= 0);
		require((interval->start_ns == YCSB_NO_TIME) == (interval->end_ns == YCSB_NO_TIME));
	}
}

static void check_file(const struct ycsb_file *file)
{
	require(file->run_count >= 1 && file->run_count <= YCSB_RUNS_MAX);
	for (size_t i = 0; i < file->run_count; i++)
		check_run(&file->runs[i]);
}

static void check_audit(const struct ycsb_file *file)
{
	for (size_t i = 0; i < file->run_count && i < 100; i++) {
		struct ycsb_audit audit;
		ycsb_audit(file, 1, 0, i, &audit);
		require(audit.finding_count <= YCSB_FINDINGS_MAX);
		for (size_t f = 0; f < audit.finding_count; f++)
			require(audit.findings[f].severity <= audit.worst);
	}
}

/* Twice the same file is two clients of every run. */
static void check_clients(const struct ycsb_file *file)
{
	const struct ycsb_file twice[] = {*file, *file};
	struct ycsb_file together;
	struct error error = {0};
	require(ycsb_clients(twice, 2, true, &together, &error));
	require(together.run_count >= 1 && together.run_count <= file->run_count);
	for (size_t i = 0; i < together.run_count; i++)
		for (size_t o = 0; o < together.runs[i].operation_kinds; o++)
			check_operation(&together.runs[i].operations[o]);
	ycsb_file_free(&together);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char path[64];
	if (!path[0])
		scratch_path(path, sizeof path, "ycsb.txt");
	scratch_write(path, data, bytes);

	struct ycsb_options options = {.have_offset = true, .have_start = bytes % 2 == 1};
	struct ycsb_file file = {0};
	struct error error = {0};
	if (ycsb_read(path, &options, &file, &error)) {
		check_file(&file);
		check_audit(&file);
		check_clients(&file);
		ycsb_file_free(&file);
	} else {
		require(error.code == ERROR_INPUT && error.text[0] && !strcmp(error.file, path));
	}
	unlink(path);
	return 0;
}
