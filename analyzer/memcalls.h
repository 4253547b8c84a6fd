/* Calls on memory that are younger than some libraries' headers. */
#ifndef MTRACE_MEMCALLS_H
#define MTRACE_MEMCALLS_H

#include <sys/mman.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* since Linux 5.18 */
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22 /* since Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1 */
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* since Linux 5.7 */
#endif

#endif
