/*
 * Numbers and names in the kernel's texts, and lists that grow, without libc and without allocating from the
 * guest.
 */
#ifndef MTRACE_TEXT_H
#define MTRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The digits at *at, of base 10 or 16 (lower case, without 0x); *at moves behind them. 0 where there are
 * none. */
uint64_t text_number(const char **at, unsigned base);

/* FNV-1a: names are short, and two of the same place rarely differ. */
uint64_t text_hash(const char *text);

/*
 * Makes room for one item more in *items (a pointer to the list, passed as void *), by raw_reserve(). False
 * where there is no memory; the list is then as before.
 */
bool list_reserve(void *items, size_t *capacity, size_t count, size_t item_bytes);

#endif
