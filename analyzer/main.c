/* mtrace-analyze: reads what libmtrace.so wrote. One subcommand, one cmd_<name>.c. */
#include <stdio.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/version.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *purpose;
};

static const struct command commands[] = {
	{"info", cmd_info, "what was recorded, for how long, by which process, and what was lost"},
	{"report", cmd_report, "everything about one or more traces and the YCSB runs in them"},
	{"sites", cmd_sites, "which call stacks allocate, hold, and are freed remotely"},
	{"hugepages", cmd_hugepages, "what lies on huge pages, over time, and what breaks them up"},
	{"percpu", cmd_percpu, "per-CPU locality and caches, and what another capacity would do"},
	{"locks", cmd_locks, "contention by lock and by site, and what goes through glibc's atomics"},
	{"ycsb", cmd_ycsb, "output of YCSB and go-ycsb as tables, and whether it can be trusted"},
	{"compare", cmd_compare, "two or more arms over repeated runs, with statistics"},
	{"doctor", cmd_doctor, "is this machine, and this mongod, set up as its allocator needs it"},
	{"atomics", cmd_atomics, "LSE, exclusive pairs and outlined atomics in AArch64 code"},
	{"ftdc", cmd_ftdc, "mongod's diagnostic.data: a summary, or the metrics as series"},
	{"export", cmd_export, "the events as csv or ndjson, or folded stacks"},
};

static void print_commands(FILE *file)
{
	fputs("usage: mtrace-analyze COMMAND [OPTION...] ARG...\n\n", file);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].purpose);
	fputs("\nEvery command has --help; --version says which release this is.\n"
	      "Exit status: 0 done; 1 done, and the answer is \"no\"; 2 wrong usage;\n"
	      "3 input unreadable or damaged (what could be read was printed); 4 out of memory or output "
	      "failed.\n",
	      file);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_commands(stderr);
		return ERROR_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_commands(stdout);
		return ERROR_NONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("mtrace-analyze %s, reads trace format version %u\n", MTRACE_VERSION,
		       (unsigned)TRACE_FORMAT_VERSION);
		return ERROR_NONE;
	}
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "mtrace-analyze: there is no command '%s'; --help lists them\n", argv[1]);
	return ERROR_USAGE;
}
