/*
 * The trace's first block: who was traced, where and how, as `key=value` lines (keys in trace/FORMAT.md).
 */
#ifndef MTRACE_PROCESS_BLOCK_H
#define MTRACE_PROCESS_BLOCK_H

void process_block_write(void);

#endif
