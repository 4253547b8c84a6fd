#include "shim/refusal.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim/diag.h"
#include "shim/raw.h"

/* Tables of stacks, modules and samples, buffers of the writer, libraries for stacks. */
#define OTHER_BYTES (UINT64_C(96) << 20)

static uint64_t mapped_bytes(void)
{
	char text[64] = "";
	int fd = raw_open("/proc/self/statm", O_RDONLY, 0);
	if (fd < 0)
		return 0;
	raw_read(fd, text, sizeof text - 1);
	raw_close(fd);
	uint64_t pages = 0;
	for (const char *digit = text; *digit >= '0' && *digit <= '9'; digit++)
		pages = pages * 10 + (uint64_t)(*digit - '0');
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int refusal_for_limits(uint64_t ring_bytes)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	raw4(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return 0;
	return mapped_bytes() + 2 * (OTHER_BYTES + ring_bytes) > limit.rlim_cur ? -ENOMEM : 0;
}

/* strerror() allocates and follows the guest's language. */
static const char *words_of(int error)
{
	switch (error) {
	case EACCES:
		return "permission denied";
	case EPERM:
		return "not permitted";
	case ENOENT:
		return "no such folder";
	case ENOTDIR:
		return "not a folder";
	case EISDIR:
		return "it is a folder";
	case EINVAL:
		return "something other than a file is there";
	case EROFS:
		return "read-only file system";
	case ENAMETOOLONG:
		return "path too long";
	case EEXIST:
		return "too many traces of that name";
	case ENOSPC:
		return "no space left there";
	case EDQUOT:
		return "disk quota exceeded";
	case EFBIG:
		return "file size limit";
	case ENOMEM:
		return "not enough memory or address space";
	case EAGAIN:
		return "limit of locked memory";
	case EMFILE:
		return "too many open files in this process";
	case ENFILE:
		return "too many open files in the system";
	default:
		return "error";
	}
}

static const char *remedy_for(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "free some space there, or set MTRACE_OUT to a path on another file system, or set "
		       "MTRACE_RING_MIB=8 to need less";
	case EFBIG:
		return "raise the limit (ulimit -f), or set MTRACE_RING_MIB=8 to need less";
	case ENOMEM:
	case EAGAIN:
		return "raise the limit (ulimit -v, ulimit -l, the container's memory), or set "
		       "MTRACE_RING_MIB=8 to need less";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (ulimit -n)";
	case EEXIST:
		return "remove old traces, or set MTRACE_OUT to another path";
	default:
		return "set MTRACE_OUT to a path in a folder that this user may write, e.g. "
		       "MTRACE_OUT=/tmp/mtrace.%p.mtr";
	}
}

void refusal_say(const char *path, int error)
{
	diag("uid %ld cannot write %.600s (%s, error %d): this process runs untraced; %s", raw0(SYS_getuid),
	     path, words_of(-error), -error, remedy_for(-error));
}
