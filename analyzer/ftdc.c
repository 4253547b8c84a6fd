#include "analyzer/ftdc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/array.h"
#include "analyzer/ftdc_internal.h"

#define FILE_PREFIX  "metrics."
#define INTERIM_NAME "metrics.interim"
#define UNFINISHED   ".temp" /* mongod writes metrics.interim.temp, then renames it */

struct ftdc {
	struct ftdc_options options;
	char **paths;
	size_t path_count, path_capacity, next_path;
	struct ftdc_source source; /* file is NULL between files */
	uint8_t *buffer;	   /* the document being read */
	size_t buffer_capacity;
	struct ftdc_chunks chunks;
	struct ftdc_metadata metadata;
	int64_t newest_ms; /* of all samples so far */
	uint64_t done_bytes, total_bytes;
	struct ftdc_damage *damage;
	size_t damage_kept, damage_capacity;
	uint64_t damage_count;
};

/* ---- damage -------------------------------------------------------------------------------------------- */

static void add_damage(struct ftdc *ftdc, const char *file, uint64_t offset_bytes, uint64_t bytes,
		       const char *text)
{
	ftdc->damage_count++;
	if (ftdc->damage_kept == FTDC_DAMAGE_MAX ||
	    !array_reserve(&ftdc->damage, &ftdc->damage_capacity, ftdc->damage_kept + 1,
			   sizeof *ftdc->damage))
		return;
	struct ftdc_damage *damage = &ftdc->damage[ftdc->damage_kept++];
	*damage = (struct ftdc_damage){.file = file, .offset_bytes = offset_bytes, .bytes = bytes};
	snprintf(damage->text, sizeof damage->text, "%s", text);
}

const struct ftdc_damage *ftdc_damage(const struct ftdc *ftdc, size_t *count)
{
	*count = ftdc->damage_kept;
	return ftdc->damage;
}

uint64_t ftdc_damage_count(const struct ftdc *ftdc)
{
	return ftdc->damage_count;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool is_interim(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, INTERIM_NAME) == 0;
}

static bool is_metrics_file(const char *name)
{
	size_t length = strlen(name), end = sizeof UNFINISHED - 1;
	return strncmp(name, FILE_PREFIX, sizeof FILE_PREFIX - 1) == 0 &&
	       (length < end || strcmp(name + length - end, UNFINISHED) != 0);
}

/* Names carry the time at which a file was begun; metrics.interim is newer than all of them. */
static int compare_paths(const void *a, const void *b)
{
	const char *one = *(char *const *)a, *other = *(char *const *)b;
	int interim = (int)is_interim(one) - (int)is_interim(other);
	return interim ? interim : strcmp(one, other);
}

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static bool cannot_read(const char *path, struct error *error)
{
	return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET, "cannot be read: %s", strerror(errno));
}

static bool add_path(struct ftdc *ftdc, const char *folder, const char *name, struct error *error)
{
	char *path;
	struct stat status;
	if (!array_reserve(&ftdc->paths, &ftdc->path_capacity, ftdc->path_count + 1, sizeof *ftdc->paths) ||
	    asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
		return out_of_memory(error);
	ftdc->paths[ftdc->path_count++] = path;
	if (stat(path, &status) == 0 && status.st_size > 0)
		ftdc->total_bytes += (uint64_t)status.st_size;
	return true;
}

static bool add_folder(struct ftdc *ftdc, const char *path, struct error *error)
{
	DIR *folder = opendir(path);
	if (!folder)
		return cannot_read(path, error);
	bool good = true;
	for (struct dirent *entry; good && (entry = readdir(folder));)
		if (is_metrics_file(entry->d_name))
			good = add_path(ftdc, path, entry->d_name, error);
	closedir(folder);
	if (good && ftdc->path_count)
		qsort(ftdc->paths, ftdc->path_count, sizeof *ftdc->paths, compare_paths);
	return good;
}

static bool add_diagnostic_folder(struct ftdc *ftdc, const char *path, struct error *error)
{
	char *inner;
	struct stat status;
	if (asprintf(&inner, "%s/diagnostic.data", path) < 0)
		return out_of_memory(error);
	bool good = stat(inner, &status) != 0 || add_folder(ftdc, inner, error);
	free(inner);
	return good;
}

static bool find_files(struct ftdc *ftdc, const char *path, struct error *error)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return cannot_read(path, error);
	if (!S_ISDIR(status.st_mode))
		return add_path(ftdc, NULL, path, error);
	if (!add_folder(ftdc, path, error) ||
	    (ftdc->path_count == 0 && !add_diagnostic_folder(ftdc, path, error)))
		return false;
	return ftdc->path_count > 0 ||
	       error_set(
		       error, ERROR_INPUT, path, ERROR_NO_OFFSET,
		       "no file metrics.* in this folder: give diagnostic.data below mongod's dbPath, or one "
		       "of its files");
}

/* O_NONBLOCK: a pipe without a writer would hold up the open. */
static FILE *open_regular(const char *path, const char **why)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	FILE *file = regular ? fdopen(fd, "r") : NULL;
	*why = fd < 0 || regular ? strerror(errno) : "not a regular file";
	if (!file && fd >= 0)
		close(fd);
	return file;
}

/* False when there is no further file. */
static bool next_file(struct ftdc *ftdc)
{
	while (ftdc->next_path < ftdc->path_count) {
		const char *path = ftdc->paths[ftdc->next_path++], *why;
		ftdc->source = (struct ftdc_source){.file = open_regular(path, &why),
						    .path = path,
						    .interim = is_interim(path),
						    .described_ms = INT64_MIN};
		if (ftdc->source.file)
			return true;
		add_damage(ftdc, path, 0, 0, why);
	}
	return false;
}

static void end_file(struct ftdc *ftdc)
{
	if (ferror(ftdc->source.file))
		add_damage(ftdc, ftdc->source.path, ftdc->source.offset_bytes, 0, "reading failed");
	ftdc->done_bytes += ftdc->source.offset_bytes;
	fclose(ftdc->source.file);
	ftdc->source = (struct ftdc_source){0};
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

/* Whether the samples may be ones that an archive has as well: those not archived yet, or recovered after a
 * crash. */
static bool may_repeat(const struct ftdc_source *source, const struct ftdc_document *document)
{
	return source->interim || document->id_ms < source->described_ms;
}

static void skip_samples(struct ftdc_chunks *chunks, struct ftdc_chunk *chunk, size_t count)
{
	chunk->samples -= count;
	chunk->repeated = count;
	chunk->time_ms += count;
	for (size_t i = 0; i < chunk->column_count; i++)
		chunks->columns[i].values += count;
}

static void finish_chunk(struct ftdc *ftdc, const struct ftdc_document *document, struct ftdc_chunk *chunk)
{
	chunk->file = ftdc->source.path;
	chunk->offset_bytes = document->offset_bytes;
	size_t repeated = 0;
	if (may_repeat(&ftdc->source, document))
		while (repeated < chunk->samples && chunk->time_ms[repeated] <= ftdc->newest_ms)
			repeated++;
	if (repeated)
		skip_samples(&ftdc->chunks, chunk, repeated);
	for (size_t i = 0; i < chunk->samples; i++)
		if (chunk->time_ms[i] > ftdc->newest_ms)
			ftdc->newest_ms = chunk->time_ms[i];
}

/* True where `chunk` has been filled in. */
static bool take(struct ftdc *ftdc, const struct ftdc_document *document, struct ftdc_chunk *chunk,
		 const char **why)
{
	switch (document->type) {
	case FTDC_TYPE_DESCRIPTION:
		ftdc->source.described_ms = document->id_ms;
		*why = ftdc_metadata_read(&ftdc->metadata, document);
		return false;
	case FTDC_TYPE_PARAMETERS:
		*why = ftdc_metadata_read(&ftdc->metadata, document);
		return false;
	case FTDC_TYPE_CHUNK:
		*why = document->data ? ftdc_chunk_decode(&ftdc->chunks, &ftdc->options, document->data,
							  document->data_bytes, chunk)
				      : "a chunk without its data";
		if (!*why)
			finish_chunk(ftdc, document, chunk);
		return !*why;
	default: /* of a later server */
		return false;
	}
}

static void pass_over(struct ftdc *ftdc, uint64_t offset_bytes, const char *why)
{
	ftdc_resync(&ftdc->source, offset_bytes);
	add_damage(ftdc, ftdc->source.path, offset_bytes, ftdc->source.offset_bytes - offset_bytes, why);
}

/* True with a chunk; false at the end of the file, or with *why when memory has run out. */
static bool next_in_file(struct ftdc *ftdc, struct ftdc_chunk *chunk, const char **why)
{
	struct ftdc_document document;
	for (;;) {
		uint64_t offset_bytes = ftdc->source.offset_bytes;
		*why = NULL;
		enum ftdc_read read = ftdc_read_document(&ftdc->source, &ftdc->buffer, &ftdc->buffer_capacity,
							 &document, why);
		if (read == FTDC_READ_END)
			return false;
		if (read == FTDC_READ_DOCUMENT && take(ftdc, &document, chunk, why))
			return true;
		if (*why == ftdc_no_memory)
			return false;
		if (*why)
			pass_over(ftdc, offset_bytes, *why);
	}
}

bool ftdc_next(struct ftdc *ftdc, struct ftdc_chunk *chunk, struct error *error)
{
	while (ftdc->source.file || next_file(ftdc)) {
		const char *why;
		if (next_in_file(ftdc, chunk, &why))
			return true;
		if (why)
			return out_of_memory(error);
		end_file(ftdc);
	}
	return false;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

struct ftdc *ftdc_open(const char *path, const struct ftdc_options *options, struct error *error)
{
	struct ftdc *ftdc = calloc(1, sizeof *ftdc);
	if (!ftdc) {
		out_of_memory(error);
		return NULL;
	}
	if (options)
		ftdc->options = *options;
	ftdc->newest_ms = INT64_MIN;
	if (find_files(ftdc, path, error))
		return ftdc;
	ftdc_close(ftdc);
	return NULL;
}

void ftdc_close(struct ftdc *ftdc)
{
	if (!ftdc)
		return;
	if (ftdc->source.file)
		fclose(ftdc->source.file);
	for (size_t i = 0; i < ftdc->path_count; i++)
		free(ftdc->paths[i]);
	free(ftdc->paths);
	free(ftdc->buffer);
	free(ftdc->damage);
	ftdc_chunks_free(&ftdc->chunks);
	ftdc_metadata_free(&ftdc->metadata);
	free(ftdc);
}

uint64_t ftdc_done_bytes(const struct ftdc *ftdc)
{
	return ftdc->done_bytes + ftdc->source.offset_bytes;
}

uint64_t ftdc_total_bytes(const struct ftdc *ftdc)
{
	return ftdc->total_bytes;
}

const char *const *ftdc_files(const struct ftdc *ftdc, size_t *count)
{
	*count = ftdc->path_count;
	return (const char *const *)ftdc->paths;
}

uint64_t ftdc_inflated_bytes(const struct ftdc *ftdc)
{
	return ftdc->chunks.inflated_bytes;
}

/* ---- metadata ------------------------------------------------------------------------------------------ */

bool ftdc_text(const struct ftdc *ftdc, const char *path, char *text, size_t size)
{
	return ftdc_metadata_text(&ftdc->metadata, path, text, size);
}

bool ftdc_number(const struct ftdc *ftdc, const char *path, int64_t *value)
{
	return ftdc_metadata_number(&ftdc->metadata, path, value);
}
