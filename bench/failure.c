#include "bench/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool failure_set(struct failure *failure, int exit_status, const char *format, ...)
{
	va_list arguments;

	if (failure->exit_status)
		return false;
	failure->exit_status = exit_status;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof failure->text, format, arguments);
	va_end(arguments);
	return false;
}

int failure_print(const struct failure *failure, const char *program)
{
	fprintf(stderr, "%s: %s\n", program, failure->text);
	return failure->exit_status;
}

void *must_calloc(unsigned long count, unsigned long bytes)
{
	void *memory = calloc(count, bytes);

	if (!memory) {
		fprintf(stderr, "out of memory: %lu times %lu bytes\n", count, bytes);
		exit(EXIT_FAILED);
	}
	return memory;
}

char *must_copy(const char *text)
{
	size_t bytes = strlen(text) + 1;

	return memcpy(must_calloc(1, bytes), text, bytes);
}
