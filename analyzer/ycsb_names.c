/* What the names of operations and files say. */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_audit.h"

static bool starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *name, const char *suffix)
{
	size_t length = strlen(name), wanted = strlen(suffix);
	return length > wanted && strcmp(name + length - wanted, suffix) == 0;
}

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof *(list))

/* "READ", or the "READ" of "READ-FAILED" with the rest in *rest. */
static bool is_stock(const char *name, const char **rest)
{
	static const char *const stock[] = {"READ", "UPDATE", "INSERT", "SCAN", "DELETE"};
	for (size_t i = 0; i < sizeof stock / sizeof *stock; i++) {
		*rest = name + strlen(stock[i]);
		if (starts(name, stock[i]) && (**rest == 0 || **rest == '-' || **rest == '_'))
			return true;
	}
	return false;
}

enum ycsb_operation_class ycsb_classify(const char *name)
{
	static const char *const machine[] = {"CLEANUP",      "VERIFY", "THREAD_COUNT", "USED_MEM_MB",
					      "SYS_LOAD_AVG", "GCS",	"GCS_TIME"};
	const char *rest;
	if (starts(name, "Hdr"))
		name += 3;
	if (starts(name, "READ-MODIFY-WRITE") || starts(name, "READ_MODIFY_WRITE") ||
	    starts(name, "Intended-") || starts(name, "Bucket") || starts(name, "Raw") ||
	    strcmp(name, "TOTAL") == 0 || ends(name, "-LATENCY-PER-RECORD"))
		return YCSB_OP_TWICE;
	if (IS_ONE_OF(name, machine))
		return YCSB_OP_NONE;
	if (!is_stock(name, &rest))
		return YCSB_OP_FOREIGN;
	if (*rest == 0)
		return YCSB_OP_DONE;
	return *rest == '-' || ends(rest, "_ERROR") || strcmp(rest, "_ERROR") == 0 ? YCSB_OP_FAILED
										   : YCSB_OP_FOREIGN;
}

static uint64_t digits_at(const char *at)
{
	char *end;
	if (!isdigit((unsigned char)*at))
		return YCSB_UNKNOWN;
	unsigned long long value = strtoull(at, &end, 10);
	return value > 0 && value < 1000000 ? value : YCSB_UNKNOWN;
}

uint64_t ycsb_threads_in_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *word = strcasestr(name, "thread");
	if (!word)
		return YCSB_UNKNOWN;
	const char *behind = word + strlen("thread");
	behind += *behind == 's' || *behind == 'S';
	behind += *behind != 0 && strchr("-_=. ", *behind) != NULL;
	uint64_t value = digits_at(behind);
	if (value != YCSB_UNKNOWN)
		return value;
	const char *before = word;
	while (before > name && strchr("-_", before[-1]))
		before--;
	while (before > name && isdigit((unsigned char)before[-1]))
		before--;
	return digits_at(before);
}

const char *ycsb_threads_source_name(enum ycsb_threads_source source)
{
	static const char *const names[] = {
		[YCSB_THREADS_ASKED] = "command line",
		[YCSB_THREADS_ENDED] = "threads that ended",
		[YCSB_THREADS_NAMED] = "file name",
	};
	return source == YCSB_THREADS_UNKNOWN ? NULL : names[source];
}

const char *ycsb_severity_name(enum ycsb_severity severity)
{
	static const char *const names[] = {"note", "warning", "invalid"};
	return names[severity];
}
