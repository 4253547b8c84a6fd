/*
 * How fast diagnostic data becomes CSV, and in how much memory.
 *
 *     ftdc_speed [MEGABYTES [FOLDER]]
 *
 * Writes as many megabytes of diagnostic.data to /tmp as are asked for (200: a week of MongoDB 8.0), in files
 * of 10 MB: chunks of 300 samples of 3,000 metrics, of which most never change, some count, some go up and
 * down, which deflate to some 100 KB as a server's do. Then has 50 of the metrics exported, and removes the
 * folder. Prints megabytes of inflated data per second of CPU time, both passes over the files included (the
 * first collects the names), and the largest resident size. In a FOLDER of one's own, an empty one, the data
 * is kept.
 */
#include <bson/bson.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "analyzer/command.h"
#include "tests/bench/speed.h"

enum { GROUPS = 60, FIELDS = 50, METRICS = GROUPS * FIELDS + 1, SAMPLES = 300, CHOSEN = 50 };
enum { FILE_BYTES = 10000000, INFLATED_MAX = 4 << 20 };
#define START_MS INT64_C(1780228800000)

/* ---- one chunk ----------------------------------------------------------------------------------------- */

static struct {
	uint8_t data[INFLATED_MAX];
	size_t count;
	uint64_t zeros;
} inflated;

static int64_t values[METRICS];

static void put_u32(uint32_t value)
{
	memcpy(inflated.data + inflated.count, &value, 4);
	inflated.count += 4;
}

static void put_varint(uint64_t value)
{
	for (; value > 127; value >>= 7)
		inflated.data[inflated.count++] = (uint8_t)(value | 128);
	inflated.data[inflated.count++] = (uint8_t)value;
}

static void end_zeros(void)
{
	if (!inflated.zeros)
		return;
	put_varint(0);
	put_varint(inflated.zeros - 1);
	inflated.zeros = 0;
}

static void put_delta(uint64_t delta)
{
	if (delta == 0) {
		inflated.zeros++;
		return;
	}
	end_zeros();
	put_varint(delta);
}

static bson_t *first_sample(int64_t time_ms)
{
	bson_t *sample = BCON_NEW("start", BCON_DATE_TIME(time_ms));
	for (int group = 0; group < GROUPS; group++) {
		bson_t inner = BSON_INITIALIZER;
		char name[64];
		for (int field = 0; field < FIELDS; field++) {
			snprintf(name, sizeof name, "operations of kind %d since start", field);
			bson_append_int64(&inner, name, -1, values[1 + group * FIELDS + field]);
		}
		snprintf(name, sizeof name, "section%02d", group);
		bson_append_document(sample, name, -1, &inner);
		bson_destroy(&inner);
	}
	return sample;
}

/* Of each ten metrics one counts, one goes up and down every few seconds, one changes once in a while. */
static int64_t delta_of(int metric)
{
	uint64_t random = random_next();
	switch (metric % 20) {
	case 3:
		return (int64_t)(random % 90);
	case 7:
		return random % 4 ? 0 : (int64_t)(random >> 8 & 4095) - 2048;
	case 11:
		return random % 100 == 0;
	default:
		return 0;
	}
}

static void make_chunk(int64_t time_ms)
{
	bson_t *sample = first_sample(time_ms);
	inflated.count = 0;
	memcpy(inflated.data, bson_get_data(sample), sample->len);
	inflated.count = sample->len;
	bson_destroy(sample);
	put_u32(METRICS);
	put_u32(SAMPLES - 1);
	for (int metric = 0; metric < METRICS; metric++)
		for (int i = 1; i < SAMPLES; i++) {
			int64_t delta = metric ? delta_of(metric) : 1000;
			values[metric] += delta;
			put_delta((uint64_t)delta);
		}
	end_zeros();
}

/* ---- files --------------------------------------------------------------------------------------------- */

static size_t write_chunk(FILE *file, int64_t time_ms)
{
	static uint8_t deflated[INFLATED_MAX];
	uLongf bytes = sizeof deflated - 4;
	make_chunk(time_ms);
	uint32_t length = (uint32_t)inflated.count;
	memcpy(deflated, &length, 4);
	if (compress2(deflated + 4, &bytes, inflated.data, inflated.count, Z_DEFAULT_COMPRESSION) != Z_OK)
		abort();
	bson_t *document = BCON_NEW("_id", BCON_DATE_TIME(time_ms), "type", BCON_INT32(1), "data",
				    BCON_BIN(BSON_SUBTYPE_BINARY, deflated, (uint32_t)bytes + 4));
	fwrite(bson_get_data(document), 1, document->len, file);
	size_t written = document->len;
	bson_destroy(document);
	return written;
}

/* Bytes of inflated data. */
static uint64_t write_folder(const char *folder, uint64_t wanted_bytes, uint64_t *chunks)
{
	uint64_t written = 0, all = 0;
	int64_t time_ms = START_MS;
	/* Counts and bytes of a server that has run for a while: up to 13 digits. */
	for (int metric = 1; metric < METRICS; metric++)
		values[metric] = (int64_t)(random_next() >> (24 + random_next() % 36));
	for (int number = 0; written < wanted_bytes; number++) {
		char path[128];
		snprintf(path, sizeof path, "%s/metrics.2026-05-31T12-00-00Z-%05d", folder, number);
		FILE *file = fopen(path, "w");
		if (!file)
			abort();
		for (size_t bytes = 0; bytes < FILE_BYTES && written < wanted_bytes; (*chunks)++) {
			size_t chunk = write_chunk(file, time_ms);
			bytes += chunk;
			written += chunk;
			all += inflated.count;
			time_ms += SAMPLES * 1000;
		}
		if (fclose(file) != 0)
			abort();
	}
	return all;
}

static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(path);
}

/* ---- the export ---------------------------------------------------------------------------------------- */

static int export(char *folder)
{
	static char names[CHOSEN][64];
	char *argv[2 * CHOSEN + 8] = {"ftdc", "--csv", "-o", "/dev/null", folder};
	int argc = 5;
	for (int i = 0; i < CHOSEN; i++) {
		snprintf(names[i], sizeof names[i], "section%02d.operations of kind %d since start", i,
			 3 + i % 40);
		argv[argc++] = "--metrics";
		argv[argc++] = names[i];
	}
	return cmd_ftdc(argc, argv);
}

int main(int argc, char **argv)
{
	long megabytes = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
	char own[] = "/tmp/ftdc_speed.XXXXXX", *folder = argc > 2 ? argv[2] : own;
	uint64_t chunks = 0;
	struct rusage usage;
	if (megabytes <= 0 || megabytes > 100000 || (folder == own && !mkdtemp(own)))
		return 2;
	uint64_t bytes = write_folder(folder, (uint64_t)megabytes * 1000000, &chunks);
	double start = now_s();
	int status = export(folder);
	double seconds = now_s() - start;
	if (folder == own)
		remove_folder(folder);
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld MB, %" PRIu64
	       " chunks, %.0f MB inflated: %.0f MB of that per CPU second, %ld MiB resident\n",
	       megabytes, chunks, (double)bytes / 1e6, (double)bytes / 1e6 / seconds, usage.ru_maxrss / 1024);
	return status;
}
