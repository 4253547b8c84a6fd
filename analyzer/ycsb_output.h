/* YCSB's runs as text: a block a run, a series where it is wanted, and an overview of several. */
#ifndef MTRACE_YCSB_OUTPUT_H
#define MTRACE_YCSB_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzer/ycsb.h"

struct ycsb_output {
	bool brief;  /* the overview alone */
	bool series; /* every interval of every run as well */
};

/* Latencies are in microseconds, as the client printed them. "-" stands for what is not known. */
void ycsb_print(FILE *file, const struct ycsb_file *files, size_t count, const struct ycsb_output *output);

#endif
