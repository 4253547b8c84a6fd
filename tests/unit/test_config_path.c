#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/config.h"
#include "tests/unit/support_trace.h"

static void assert_path(const char *out, const char *expected)
{
	char assignment[CONFIG_PATH_BYTES], path[CONFIG_PATH_BYTES];
	snprintf(assignment, sizeof assignment, "MTRACE_OUT=%s", out);
	config_read((char *[]){assignment, NULL});
	cr_assert(config_trace_path(path, sizeof path));
	cr_assert_str_eq(path, expected);
}

/* Printed into one of a few buffers. */
__attribute__((format(printf, 1, 2))) static const char *text(const char *format, ...)
{
	static char buffers[4][CONFIG_PATH_BYTES];
	static unsigned next;
	char *buffer = buffers[next++ % 4];
	va_list args;
	va_start(args, format);
	vsnprintf(buffer, sizeof buffers[0], format, args);
	va_end(args);
	return buffer;
}

Test(config_path, sequences)
{
	char host[256];
	cr_assert_eq(gethostname(host, sizeof host), 0);
	assert_path("/x/%h.mtr", text("/x/%s.mtr", host));
	assert_path("/x/%p.mtr", text("/x/%d.mtr", (int)getpid()));
	assert_path("/x/%e.mtr", "/x/test_config_path.mtr");
	assert_path("/x/100%%.mtr", "/x/100%.mtr");
	assert_path("/x/%%p", "/x/%p");
	assert_path("/x/%q%", "/x/%q%");
	assert_path("/x/%p%p%h", text("/x/%d%d%s", (int)getpid(), (int)getpid(), host));
}

Test(config_path, time_of_start)
{
	char path[256], *end;
	config_read((char *[]){"MTRACE_OUT=/x/%t.mtr", NULL});
	time_t before = time(NULL);
	cr_assert(config_trace_path(path, sizeof path));
	long seconds = strtol(path + 3, &end, 10);
	cr_assert_str_eq(end, ".mtr");
	cr_assert(seconds >= before - 1 && seconds <= time(NULL) + 1);
}

Test(config_path, becomes_absolute)
{
	char cwd[CONFIG_PATH_BYTES];
	const char *folder = support_path("folder");
	cr_assert_eq(mkdir(folder, 0700), 0);
	cr_assert_eq(chdir(folder), 0);
	cr_assert_not_null(getcwd(cwd, sizeof cwd));
	assert_path("a.mtr", text("%s/a.mtr", cwd));
	assert_path("%e/a.mtr", text("%s/test_config_path/a.mtr", cwd));
	assert_path("/a.mtr", "/a.mtr");
	cr_assert_eq(chdir("/"), 0); /* the folder is removed at exit */
}

Test(config_path, from_a_folder_that_is_gone)
{
	char path[CONFIG_PATH_BYTES];
	const char *folder = support_path("folder");
	cr_assert_eq(mkdir(folder, 0700), 0);
	cr_assert_eq(chdir(folder), 0);
	cr_assert_eq(rmdir(folder), 0);
	config_read((char *[]){"MTRACE_OUT=a.mtr", NULL});
	cr_assert_not(config_trace_path(path, sizeof path));
	assert_path("/a.mtr", "/a.mtr");
	cr_assert_eq(chdir("/"), 0);
}

/* The last byte that fits, and one more, for each way of writing. */
static void assert_limit(const char *out, const char *expected)
{
	char path[CONFIG_PATH_BYTES];
	size_t length = strlen(expected);
	assert_path(out, expected);
	for (size_t bytes = length - 3; bytes <= length + 1; bytes++) {
		memset(path, '#', sizeof path);
		cr_assert_eq(config_trace_path(path, bytes), bytes == length + 1, "%s in %zu", out, bytes);
		cr_assert_eq(path[bytes], '#', "%s in %zu", out, bytes);
	}
	cr_assert_eq(strncmp(path, expected, length + 1), 0);
}

Test(config_path, too_long)
{
	char cwd[CONFIG_PATH_BYTES];
	cr_assert_eq(chdir("/tmp"), 0);
	cr_assert_not_null(getcwd(cwd, sizeof cwd));
	assert_limit("/x/abcdefgh", "/x/abcdefgh");
	assert_limit("/x/%e", "/x/test_config_path");
	assert_limit("/x/12345%%", "/x/12345%");
	assert_limit("/x/12345%q", "/x/12345%q");
	assert_limit("a", text("%s/a", cwd));
}
