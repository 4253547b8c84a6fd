/* The release, as --version says it. */
#ifndef MTRACE_VERSION_H
#define MTRACE_VERSION_H

#define MTRACE_VERSION "0.1"

#endif
