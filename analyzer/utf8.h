/* Text from traces and other programs may hold any bytes; what is printed must not. */
#ifndef MTRACE_UTF8_H
#define MTRACE_UTF8_H

#include <stddef.h>

/* Length in bytes of the well-formed UTF-8 sequence (RFC 3629) at `text`; 0 where there is none. Stops at
 * NUL. */
size_t utf8_sequence(const char *text);

/* Replaces each byte that is part of no such sequence by '?'. */
void utf8_repair(char *text);

#endif
