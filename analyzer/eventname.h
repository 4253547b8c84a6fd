/* Names of event kinds in exports and reports. */
#ifndef MTRACE_EVENTNAME_H
#define MTRACE_EVENTNAME_H

#include <stdint.h>

/* "malloc", "mmap", ...; NULL for a kind that this program does not know. */
const char *event_name(uint8_t kind);

#endif
