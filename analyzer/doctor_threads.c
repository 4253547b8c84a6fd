/*
 * Who owns rseq, read out of the memory of the running process.
 *
 * glibc keeps all threads in two lists, whose places and fields it tells debuggers in variables named
 * _thread_db_* (nptl_db; each {bits, elements, offset}). The thread pointer is the descriptor itself on
 * x86-64 and its end on AArch64. From it: glibc's rseq area at __rseq_offset (glibc manual, "Restartable
 * Sequences"), and thread-local variables of the program at the offsets of the ELF TLS ABI (variant II on
 * x86-64, variant I on AArch64). In an area, cpu_id is the second 32-bit word: negative, or the number of a
 * CPU where the kernel keeps it (linux/rseq.h).
 *
 * The process runs meanwhile: a list may change under the reader, which therefore counts its steps.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/doctor_process.h"

#define THREADS_MAX 20000u /* looked at; mongod has one a connection */
#define CPU_ID_AT   4u	   /* in struct rseq */

/* ---- memory -------------------------------------------------------------------------------------------- */

struct memory {
	int fd;
	int error; /* of the first read that failed */
};

static bool read_bytes(struct memory *memory, uint64_t address, void *to, size_t bytes)
{
	ssize_t got = pread(memory->fd, to, bytes, (off_t)address);
	if (got == (ssize_t)bytes)
		return true;
	if (!memory->error)
		memory->error = got < 0 ? errno : EIO;
	return false;
}

/* ---- what glibc tells ---------------------------------------------------------------------------------- */

struct lists {
	uint64_t heads[2];
	uint64_t next_at;    /* in a list element */
	uint64_t element_at; /* of the list element in a thread's descriptor */
	uint64_t descriptor_bytes;
};

enum { DB_SIZE, DB_LIST, DB_NEXT, DB_USED, DB_USER, DB_COUNT };

static bool find_lists(struct memory *memory, const struct doctor_program *program, struct lists *lists)
{
	struct doctor_symbol symbols[DB_COUNT] = {
		[DB_SIZE] = {.name = "_thread_db_sizeof_pthread"},
		[DB_LIST] = {.name = "_thread_db_pthread_list"},
		[DB_NEXT] = {.name = "_thread_db_list_t_next"},
		[DB_USED] = {.name = "_thread_db_rtld_global__dl_stack_used"},
		[DB_USER] = {.name = "_thread_db_rtld_global__dl_stack_user"},
	};
	struct doctor_symbol global = {.name = "_rtld_global"};
	uint32_t words[DB_COUNT][3] = {{0}};
	doctor_elf_symbols(&program->libc, symbols, DB_COUNT);
	doctor_elf_symbols(&program->loader, &global, 1);
	for (size_t i = 0; i < DB_COUNT; i++)
		if (!symbols[i].found || !read_bytes(memory, program->libc_bias + symbols[i].value, words[i],
						     i == DB_SIZE ? sizeof words[i][0] : sizeof words[i]))
			return false;
	*lists = (struct lists){.next_at = words[DB_NEXT][2],
				.element_at = words[DB_LIST][2],
				.descriptor_bytes = words[DB_SIZE][0]};
	lists->heads[0] = program->loader_bias + global.value + words[DB_USER][2];
	lists->heads[1] = program->loader_bias + global.value + words[DB_USED][2];
	return global.found;
}

/* ---- where the areas are ------------------------------------------------------------------------------- */

struct areas {
	bool glibc; /* it has registered: its area is in use */
	int64_t glibc_at;
	bool program;	    /* has __rseq_abi */
	int64_t program_at; /* both from the thread pointer */
};

static bool find_glibc_area(struct memory *memory, const struct doctor_program *program, struct areas *areas)
{
	struct doctor_symbol size = {.name = "__rseq_size"}, offset = {.name = "__rseq_offset"};
	uint32_t bytes = 0;
	doctor_elf_symbols(&program->loader, &size, 1);
	doctor_elf_symbols(&program->loader, &offset, 1);
	if (!size.found || !offset.found)
		return true; /* older than rseq in glibc */
	if (!read_bytes(memory, program->loader_bias + size.value, &bytes, sizeof bytes) ||
	    !read_bytes(memory, program->loader_bias + offset.value, &areas->glibc_at,
			sizeof areas->glibc_at))
		return false;
	areas->glibc = bytes != 0;
	return true;
}

static uint64_t round_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) / align * align;
}

static void find_program_area(const struct doctor_program *program, struct areas *areas)
{
	struct doctor_symbol area = {.name = "__rseq_abi"};
	const struct doctor_elf *exe = &program->exe;
	if (!exe->elf || !exe->has_tls)
		return;
	doctor_elf_symbols(exe, &area, 1);
	const uint64_t skew = exe->tls_address % exe->tls_align;
	areas->program = area.found && (exe->machine == EM_X86_64 || exe->machine == EM_AARCH64);
	if (exe->machine == EM_X86_64)
		areas->program_at = (int64_t)(area.value + skew) -
				    (int64_t)round_up(exe->tls_bytes + skew, exe->tls_align);
	else
		areas->program_at = (int64_t)(round_up(16, exe->tls_align) + skew + area.value);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

struct census {
	unsigned threads, glibc, program, program_failed;
};

static bool area_state(struct memory *memory, uint64_t area, int32_t *cpu)
{
	return read_bytes(memory, area + CPU_ID_AT, cpu, sizeof *cpu);
}

static void look_at_thread(struct memory *memory, const struct areas *areas, uint64_t pointer,
			   struct census *census)
{
	int32_t cpu;
	census->threads++;
	if (areas->glibc && area_state(memory, pointer + (uint64_t)areas->glibc_at, &cpu))
		census->glibc += cpu >= 0;
	if (areas->program && area_state(memory, pointer + (uint64_t)areas->program_at, &cpu)) {
		census->program += cpu >= 0;
		census->program_failed += cpu == -2;
	}
}

static void walk(struct memory *memory, const struct doctor_program *program, const struct lists *lists,
		 const struct areas *areas, struct census *census)
{
	const uint64_t pointer_at = program->libc.machine == EM_AARCH64 ? lists->descriptor_bytes : 0;
	for (size_t i = 0; i < 2; i++) {
		uint64_t element = lists->heads[i];
		while (census->threads < THREADS_MAX &&
		       read_bytes(memory, element + lists->next_at, &element, sizeof element) && element &&
		       element != lists->heads[i])
			look_at_thread(memory, areas, element - lists->element_at + pointer_at, census);
	}
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

static void put_owner(struct facts *facts, const struct areas *areas, const struct census *census)
{
	char text[160];
	const char *owner = "program";
	if (census->glibc)
		owner = "glibc";
	else if (census->program)
		owner = "application";
	else if (areas->program)
		owner = "none";
	snprintf(text, sizeof text, "of %u threads %u have glibc's area registered%s", census->threads,
		 census->glibc, areas->program ? "" : "; the program has no variable __rseq_abi");
	if (areas->program)
		snprintf(text + strlen(text), sizeof text - strlen(text),
			 ", %u the program's own (__rseq_abi)", census->program);
	facts_text(facts, FACT_RSEQ_OWNER, owner, "memory of its threads");
	facts_text(facts, FACT_RSEQ_THREADS, text, "memory of its threads");
	if (areas->program && (census->program || census->program_failed || census->glibc))
		facts_number(facts, FACT_PER_CPU_ACTIVE, census->program > 0, "memory of its threads");
	facts_unknown(facts, FACT_PER_CPU_ACTIVE, "%s; its diagnostic data (--ftdc) says it",
		      areas->program ? "no thread has asked for rseq yet"
				     : "the program has no variable __rseq_abi to tell it by");
}

static void no_owner(struct facts *facts, const char *reason)
{
	facts_unknown(facts, FACT_RSEQ_OWNER, "%s", reason);
	facts_unknown(facts, FACT_PER_CPU_ACTIVE, "%s", reason);
	facts_unknown(facts, FACT_PER_CPU_MAX_BYTES, "%s", reason);
}

static void look(struct memory *memory, struct facts *facts, const struct doctor_program *program)
{
	struct lists lists;
	struct areas areas = {0};
	struct census census = {0};
	find_program_area(program, &areas);
	if (find_lists(memory, program, &lists) && find_glibc_area(memory, program, &areas))
		walk(memory, program, &lists, &areas, &census);
	if (census.threads)
		put_owner(facts, &areas, &census);
	else
		no_owner(facts, memory->error ? files_error_text(memory->error)
					      : "its C library does not list its threads");
}

void doctor_process_threads(const struct doctor_files *files, struct facts *facts,
			    const struct doctor_program *program)
{
	char path[64];
	if (!program->libc.elf || !program->loader.elf) {
		no_owner(facts, "its threads can be looked at with glibc 2.34 and newer alone, and its files "
				"were not found");
		return;
	}
	snprintf(path, sizeof path, "proc/%d/mem", (int)files->pid);
	struct memory memory = {.fd = files_fd(files, path)};
	if (memory.fd < 0) {
		no_owner(facts, files_error_text(errno));
		return;
	}
	look(&memory, facts, program);
	close(memory.fd);
}
