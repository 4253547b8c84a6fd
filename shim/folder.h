/*
 * The entries of a folder, without allocating.
 */
#ifndef MTRACE_FOLDER_H
#define MTRACE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* Calls visit for each entry of the open folder; `type` is the kernel's DT_ number. */
void folder_visit(int folder, void (*visit)(const char *name, uint8_t type, void *argument), void *argument);

#endif
