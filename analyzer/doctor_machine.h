/*
 * What /proc and /sys of a machine say: kernel, huge pages, memory settings, rseq.
 *
 * Sources of what the files mean: the kernel's admin-guide/mm/transhuge (huge pages), admin-guide/sysctl/vm
 * (memory settings).
 */
#ifndef MTRACE_DOCTOR_MACHINE_H
#define MTRACE_DOCTOR_MACHINE_H

#include "analyzer/doctor_facts.h"
#include "analyzer/doctor_files.h"

/* Kernel and processor; first of all, since what a process says is read by them. */
void doctor_machine_name(const struct doctor_files *files, struct facts *facts);

/* The rest. Nothing here fails: what cannot be read is unknown, with the reason. */
void doctor_machine(const struct doctor_files *files, struct facts *facts);

/* Of the kernel, rseq and the address space alone: doctor_rseq.c. */
void doctor_machine_rseq(const struct doctor_files *files, struct facts *facts);

#endif
