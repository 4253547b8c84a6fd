#include <unistd.h>

#include "tests/unit/support_trace_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static char directory[64];

static void remove_directory(void)
{
	char command[96];
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	if (directory[0] && system(command) != 0)
		fprintf(stderr, "support_trace: %s could not be removed\n", directory);
}

const char *support_path(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	if (!directory[0]) {
		snprintf(directory, sizeof directory, "/tmp/mtrace-unit-XXXXXX");
		SUPPORT_CHECK(mkdtemp(directory));
		atexit(remove_directory);
	}
	char *path = paths[next++ % 8];
	SUPPORT_CHECK((size_t)snprintf(path, sizeof paths[0], "%s/%s", directory, name) < sizeof paths[0]);
	return path;
}

uint8_t *support_read_file(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "r");
	SUPPORT_CHECK(file && fseek(file, 0, SEEK_END) == 0);
	long size = ftell(file);
	SUPPORT_CHECK(size >= 0 && fseek(file, 0, SEEK_SET) == 0);
	uint8_t *data = malloc((size_t)size + 1);
	SUPPORT_CHECK(data && (size == 0 || fread(data, (size_t)size, 1, file) == 1));
	fclose(file);
	*bytes = (size_t)size;
	return data;
}

void support_write_file(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "w");
	SUPPORT_CHECK(file && (bytes == 0 || fwrite(data, bytes, 1, file) == 1) && fclose(file) == 0);
}

void support_tell_first_times(const char *path)
{
	size_t bytes;
	uint64_t seed;
	uint8_t *data = support_read_file(path, &bytes);
	memcpy(&seed, data + offsetof(struct file_header, nonce), sizeof seed);
	for (size_t at = TRACE_PAGE_BYTES; at + sizeof(struct block_header) <= bytes;
	     at += BLOCK_ALIGNMENT_BYTES) {
		struct block_header header;
		memcpy(&header, data + at, sizeof header);
		size_t checked = offsetof(struct block_header, header_check);
		if (header.magic != BLOCK_MAGIC ||
		    header.header_check != XXH3_64bits_withSeed(&header, checked, seed))
			continue;
		header.first_time = header.last_time;
		header.header_check = XXH3_64bits_withSeed(&header, checked, seed);
		memcpy(data + at, &header, sizeof header);
	}
	support_write_file(path, data, bytes);
	free(data);
}
