/*
 * Which memory of the process is the shim's: all that raw_mmap() gave. What is told about the guest's memory
 * leaves it out (mapsnap.c).
 */
#ifndef MTRACE_OWN_H
#define MTRACE_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OWN_HIDDEN __attribute__((visibility("hidden"))) /* reached before relocation */

/* Any thread may call these; a range that finds no place in the table counts as the guest's. */
void own_note(const void *start, size_t bytes) OWN_HIDDEN;
void own_forget(const void *start) OWN_HIDDEN;

/*
 * Whether the byte at `address` is the shim's. *until is set to where that answer may change: the next border
 * of one of its ranges, or `end`.
 */
bool own_at(uint64_t address, uint64_t end, uint64_t *until) OWN_HIDDEN;

#endif
