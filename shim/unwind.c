#include "shim/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "shim/library.h"
#include "shim/modules.h"
#include "shim/raw.h"
#include "shim/real.h"

/* What the unwinder may use of the stack: its cursor, a register context, and slack. On a smaller rest we
 * leave it. */
#define STACK_NEEDED_BYTES 16384u
#define STACK_NEAR_BYTES   32768u
#define SHIM_FRAMES_MAX	   8u
#define NO_DESCRIPTOR                                                                                        \
	(1 << 30) /* no process has so many; not -1, which libunwind takes for "not opened yet" */

static struct {
	int (*backtrace)(void **frames, int depth); /* libunwind */
	void (*flush_cache)(void *space, unsigned long low, unsigned long high);
	void **local_space;
	_Unwind_Reason_Code (*gcc_backtrace)(_Unwind_Trace_Fn callback, void *argument);
	_Unwind_Ptr (*gcc_ip)(struct _Unwind_Context *context);
} unwinder;

/* ---- libunwind's system calls, replaced
 * -------------------------------------------------------------------------- */

static int harmless_pipe2(int fds[2], int flags)
{
	(void)flags;
	fds[0] = fds[1] = NO_DESCRIPTOR;
	return 0;
}

static long harmless_read(int fd, void *buffer, size_t bytes)
{
	(void)fd;
	(void)buffer;
	(void)bytes;
	errno = EAGAIN;
	return -1;
}

/*
 * libunwind writes from an address to learn whether it can be read. The kernel copies the set of
 * rt_sigprocmask in before it looks at `how`: EFAULT for memory that cannot be read, EINVAL for memory that
 * can, and no effect either way.
 */
static long probing_write(int fd, const void *address, size_t bytes)
{
	(void)fd;
	long result = raw4(SYS_rt_sigprocmask, -1, (long)((uintptr_t)address & ~(uintptr_t)7), 0,
			   RAW_KERNEL_SIGSET_BYTES);
	if (result == -EINVAL)
		return (long)bytes;
	errno = EFAULT;
	return -1;
}

/* Newer versions probe by syscall(SYS_write, ...), which is no cancellation point. They have no other use for
 * it. */
static long probing_syscall(long number, long fd, long address, long bytes)
{
	if (number == SYS_write)
		return probing_write((int)fd, (const void *)address, (size_t)bytes);
	errno = ENOSYS;
	return -1;
}

static const struct replacement {
	const char *name;
	void *function;
} replacements[] = {
	{"pipe2", (void *)harmless_pipe2},
	{"read", (void *)harmless_read},
	{"write", (void *)probing_write},
	{"syscall", (void *)probing_syscall},
	{"dl_iterate_phdr", (void *)modules_iterate_phdr},
};

/* pipe2, read, dl_iterate_phdr and one way of writing: with fewer this is not the library that we know. */
#define REPLACED_AT_LEAST 4u

struct dynamic_tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * plt, *rela;
	size_t plt_bytes, rela_bytes;
};

static void store_pointer(uintptr_t at, void *value)
{
	uintptr_t page_bytes = 65536; /* no page is larger on the machines we know */
	uintptr_t page = at & ~(page_bytes - 1);
	/* RELRO may have made it read-only. Neighbours on the same page are data as well: writable does no
	 * harm. */
	if (raw3(SYS_mprotect, (long)(at & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE) != 0)
		raw3(SYS_mprotect, (long)page, (long)page_bytes, PROT_READ | PROT_WRITE);
	*(void **)at = value;
}

static unsigned redirect(const struct link_map *map, const struct dynamic_tables *tables,
			 const ElfW(Rela) * relocations, size_t bytes)
{
	unsigned done = 0;
	for (size_t i = 0; i < bytes / sizeof *relocations; i++) {
		size_t symbol = (size_t)ELF64_R_SYM(relocations[i].r_info);
		const char *name = tables->strings + tables->symbols[symbol].st_name;
		for (size_t r = 0; symbol && r < sizeof replacements / sizeof *replacements; r++) {
			if (strcmp(name, replacements[r].name) != 0)
				continue;
			store_pointer(map->l_addr + relocations[i].r_offset, replacements[r].function);
			done++;
		}
	}
	return done;
}

static unsigned make_harmless(const struct link_map *map)
{
	struct dynamic_tables tables = {0};
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			tables.symbols = (const void *)entry->d_un.d_ptr;
			break;
		case DT_STRTAB:
			tables.strings = (const void *)entry->d_un.d_ptr;
			break;
		case DT_JMPREL:
			tables.plt = (const void *)entry->d_un.d_ptr;
			break;
		case DT_PLTRELSZ:
			tables.plt_bytes = entry->d_un.d_val;
			break;
		case DT_RELA:
			tables.rela = (const void *)entry->d_un.d_ptr;
			break;
		case DT_RELASZ:
			tables.rela_bytes = entry->d_un.d_val;
			break;
		}
	}
	if (!tables.symbols || !tables.strings)
		return 0;
	return redirect(map, &tables, tables.plt, tables.plt ? tables.plt_bytes : 0) +
	       redirect(map, &tables, tables.rela, tables.rela ? tables.rela_bytes : 0);
}

/* ---- opening
 * ----------------------------------------------------------------------------------------------------- */

static bool open_libunwind(void)
{
	library_open("liblzma.so.5"); /* which libunwind needs: where the host has none, ours from the shim's
					 folder */
	void *handle = library_open("libunwind.so.8");
	if (!handle)
		return false;
	struct link_map *map = NULL;
	void *function = dlsym(handle, "unw_backtrace");
	if (!function || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || make_harmless(map) < REPLACED_AT_LEAST)
		return false;
	unwinder.flush_cache = dlsym(handle, "_U" ARCH_UNWIND_NAME "_flush_cache");
	unwinder.local_space = dlsym(handle, "_UL" ARCH_UNWIND_NAME "_local_addr_space");
	unwinder.backtrace = function;
	return true;
}

static void open_libgcc(void)
{
	void *handle = library_open("libgcc_s.so.1");
	if (!handle)
		return;
	unwinder.gcc_ip = dlsym(handle, "_Unwind_GetIP");
	unwinder.gcc_backtrace = unwinder.gcc_ip ? dlsym(handle, "_Unwind_Backtrace") : NULL;
}

void unwind_start(void)
{
	modules_refresh();
	if (!unwinder.backtrace && !unwinder.gcc_backtrace && !open_libunwind())
		open_libgcc();
	modules_refresh();
}

const char *unwind_name(void)
{
	return unwinder.backtrace ? "libunwind" : unwinder.gcc_backtrace ? "libgcc" : "none";
}

/* ---- unwinding
 * ---------------------------------------------------------------------------------------------------- */

struct gcc_walk {
	void **frames;
	unsigned count, depth;
};

static _Unwind_Reason_Code take_gcc_frame(struct _Unwind_Context *context, void *argument)
{
	struct gcc_walk *walk = argument;
	if (walk->count == walk->depth)
		return _URC_END_OF_STACK;
	walk->frames[walk->count++] = (void *)unwinder.gcc_ip(context);
	return _URC_NO_REASON;
}

static unsigned backtrace_any(void **frames, unsigned depth)
{
	if (unwinder.backtrace) {
		int count = unwinder.backtrace(frames, (int)depth);
		return count > 0 ? (unsigned)count : 0;
	}
	struct gcc_walk walk = {frames, 0, depth};
	unwinder.gcc_backtrace(take_gcc_frame, &walk);
	return walk.count;
}

/*
 * A signal stack can be as small as 2 KiB (mongod's are 64 KiB): too small for an unwinder. The kernel knows
 * whether we are on one, but a call of it costs more than the unwinding; close to a frame of the thread's own
 * stack the answer is known.
 */
static bool stack_suffices(struct thread *thread)
{
	stack_t stack;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (thread->stack_near && here - (thread->stack_near - STACK_NEAR_BYTES) < 2 * STACK_NEAR_BYTES)
		return true;
	if (raw2(SYS_sigaltstack, 0, (long)&stack) != 0 || !(stack.ss_flags & SS_ONSTACK)) {
		thread->stack_near = here;
		return true;
	}
	return here - (uintptr_t)stack.ss_sp > STACK_NEEDED_BYTES;
}

/* What the unwinder allocates on its way is none of the guest's calls: guarded as if inside one. */
static unsigned backtrace_guarded(struct thread *thread, void **frames, unsigned depth)
{
	struct outer_guard outer = thread_guard_inside(thread, GUARD_CALL);
	bool in_shim = thread->in_shim;
	thread->in_shim = true;
	unsigned count = backtrace_any(frames, depth);
	thread->in_shim = in_shim;
	thread_guard_back(thread, outer);
	return count;
}

/* The dynamic linker allocates the unwinder's thread-local storage here, and frees it when the thread is
 * gone. */
void unwind_warm(struct thread *thread)
{
	void *frames[SHIM_FRAMES_MAX];
	if (thread->warm || (!unwinder.backtrace && !unwinder.gcc_backtrace) || !stack_suffices(thread))
		return;
	thread->warming = true;
	backtrace_guarded(thread, frames, SHIM_FRAMES_MAX);
	thread->warming = false;
	thread->warm = true;
}

unsigned unwind_stack(struct thread *thread, uint64_t *frames, unsigned depth)
{
	if (!thread->warm || !stack_suffices(thread))
		return 0;
	void **addresses = (void **)frames;
	unsigned count = backtrace_guarded(thread, addresses, depth), skip = 0;
	while (skip < count && modules_own(frames[skip]))
		skip++;
	memmove(frames, frames + skip, (count - skip) * sizeof *frames);
	return count - skip;
}

void unwind_forget(void)
{
	if (unwinder.flush_cache && unwinder.local_space)
		unwinder.flush_cache(*unwinder.local_space, 0, 0);
}
