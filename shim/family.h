/*
 * Where this process stands: is it the program that was started, or a child of one that is traced?
 */
#ifndef MTRACE_FAMILY_H
#define MTRACE_FAMILY_H

#include <stdbool.h>

/* The parent has this very shim mapped. False where that cannot be seen (another user's process, no /proc).
 */
bool family_parent_is_traced(void);

/* Leader of its session: started as such, or detached itself (setsid) before it became this program. */
bool family_is_session_leader(void);

#endif
