#include "analyzer/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool error_set(struct error *error, enum error_code code, const char *file, uint64_t offset_bytes,
	       const char *format, ...)
{
	if (error->code != ERROR_NONE)
		return false;
	error->code = code;
	error->offset_bytes = offset_bytes;
	snprintf(error->file, sizeof error->file, "%s", file ? file : "");
	va_list args;
	va_start(args, format);
	vsnprintf(error->text, sizeof error->text, format, args);
	va_end(args);
	return false;
}

int error_print(const struct error *error)
{
	fputs("mtrace-analyze: ", stderr);
	if (error->file[0])
		fprintf(stderr, "%s: ", error->file);
	if (error->offset_bytes != ERROR_NO_OFFSET)
		fprintf(stderr, "offset %" PRIu64 ": ", error->offset_bytes);
	fprintf(stderr, "%s\n", error->text);
	return (int)error->code;
}
