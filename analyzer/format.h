/* Numbers for people. Each writes into `text` (FORMAT_TEXT_BYTES) and returns it. */
#ifndef MTRACE_FORMAT_H
#define MTRACE_FORMAT_H

#include <stdint.h>

#define FORMAT_TEXT_BYTES 48

char *format_count(char *text, uint64_t value);		     /* 1,234,567 */
char *format_bytes(char *text, double bytes);		     /* 1.2 GiB; whole bytes below 1 KiB */
char *format_seconds(char *text, double seconds);	     /* 12.3 s, 4 min 5 s, 3 h 12 min */
char *format_utc(char *text, int64_t realtime_ns);	     /* 2024-05-31T12:00:00.123Z */
char *format_percent(char *text, double part, double whole); /* "3.2%", "-" where whole is 0 */

#endif
