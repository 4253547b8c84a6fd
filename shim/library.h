/*
 * Libraries that are opened at run time: the unwinder, the instruction decoder. Private to the shim.
 */
#ifndef MTRACE_LIBRARY_H
#define MTRACE_LIBRARY_H

/*
 * Opens a library by its soname, first from the folder that holds the shim (`make install` puts copies
 * there), then wherever the system has it. Its symbols serve nobody else, and its own calls bind to itself
 * first. NULL: there is none.
 */
void *library_open(const char *soname);

#endif
