/* Of the machine: whether its kernel has rseq, and whether its C library registers it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "analyzer/doctor_machine.h"
#include "analyzer/doctor_process.h"

/* ---- kernel -------------------------------------------------------------------------------------------- */

/* A call without an area does nothing: EINVAL where the kernel knows it, ENOSYS where not, EPERM under a
 * filter. */
static bool ask_kernel(struct facts *facts)
{
	if (syscall(SYS_rseq, NULL, 0, 0, 0) == 0 || errno == EINVAL)
		facts_number(facts, FACT_KERNEL_RSEQ, 1, "the call rseq");
	else if (errno == ENOSYS)
		facts_number(facts, FACT_KERNEL_RSEQ, 0, "the call rseq");
	return fact_known(facts, FACT_KERNEL_RSEQ);
}

/* "CONFIG_RSEQ=y" at the start of a line. */
static bool judge_config(struct facts *facts, const char *text, const char *from)
{
	if (!text || !strstr(text, "CONFIG_"))
		return false;
	facts_number(facts, FACT_KERNEL_RSEQ, strstr(text, "\nCONFIG_RSEQ=y") != NULL, from);
	return true;
}

static bool read_config_gz(const struct doctor_files *files, struct facts *facts)
{
	int fd = files_fd(files, "proc/config.gz");
	gzFile file = fd >= 0 ? gzdopen(fd, "r") : NULL;
	char *text = file ? malloc(FILES_TEXT_MAX_BYTES / 16 + 1) : NULL;
	int bytes = text ? gzread(file, text, FILES_TEXT_MAX_BYTES / 16) : -1;
	if (bytes >= 0)
		text[bytes] = '\0';
	bool found = bytes > 0 && judge_config(facts, text, "/proc/config.gz");
	free(text);
	if (file)
		gzclose(file);
	else if (fd >= 0)
		close(fd);
	return found;
}

static bool read_boot_config(const struct doctor_files *files, struct facts *facts)
{
	char path[160];
	snprintf(path, sizeof path, "boot/config-%.100s", fact_text(facts, FACT_KERNEL));
	char *text = files_text(files, path, NULL);
	bool found = judge_config(facts, text, path);
	free(text);
	return found;
}

/* Names are readable without privilege, addresses are not. */
static void read_symbols(const struct doctor_files *files, struct facts *facts)
{
	char *text = files_text(files, "proc/kallsyms", NULL);
	if (text && strstr(text, "_sys_rseq\n"))
		facts_number(facts, FACT_KERNEL_RSEQ, 1, "/proc/kallsyms");
	else if (text && strstr(text, "_sys_membarrier\n"))
		facts_number(facts, FACT_KERNEL_RSEQ, 0, "/proc/kallsyms");
	else
		facts_unknown(facts, FACT_KERNEL_RSEQ,
			      "neither /proc/config.gz, /boot/config-RELEASE nor /proc/kallsyms says so");
	free(text);
}

static void find_kernel_rseq(const struct doctor_files *files, struct facts *facts)
{
	if (fact_known(facts, FACT_KERNEL_RSEQ) || (!*files->root && ask_kernel(facts)) ||
	    read_config_gz(files, facts) || read_boot_config(files, facts))
		return;
	read_symbols(files, facts);
}

/* ---- C library ----------------------------------------------------------------------------------------- */

/* By its symbol: distributions have put rseq into releases older than 2.35. */
static void find_libc_rseq(const struct doctor_files *files, struct facts *facts)
{
	static const char *const loaders[] = {"lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1",
					      "usr/lib/ld-linux-aarch64.so.1",
					      "usr/lib64/ld-linux-x86-64.so.2"};
	struct doctor_symbol symbol = {.name = "__rseq_size"};
	struct doctor_elf loader;
	for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++) {
		if (!doctor_elf_open(&loader, files_fd(files, loaders[i])))
			continue;
		doctor_elf_symbols(&loader, &symbol, 1);
		facts_number(facts, FACT_LIBC_RSEQ, symbol.found, loaders[i]);
		doctor_elf_close(&loader);
		return;
	}
	facts_unknown(facts, FACT_LIBC_RSEQ, "no ld-linux-*.so was found");
}

/* ---- address space ------------------------------------------------------------------------------------- */

static void find_address_bits(const struct doctor_files *files, struct facts *facts)
{
	struct doctor_modules modules;
	struct doctor_files self = *files;
	int error, bits = 0;
	self.pid = getpid();
	if (*files->root || !doctor_modules_read(&self, &modules, &error))
		return;
	for (uint64_t end = modules.highest ? modules.highest - 1 : 0; end; end >>= 1)
		bits++;
	facts_number(facts, FACT_ADDRESS_BITS, bits, "doctor's own highest mapping");
	doctor_modules_free(&modules);
}

void doctor_machine_rseq(const struct doctor_files *files, struct facts *facts)
{
	find_kernel_rseq(files, facts);
	if (files->pid == 0)
		find_libc_rseq(files, facts);
	find_address_bits(files, facts);
}
