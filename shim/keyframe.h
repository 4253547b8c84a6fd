/*
 * Definitions written as blocks of their own: modules, threads, stacks. A flight recorder repeats all of them
 * now and then, so that what is left in the file can be read after the older blocks were overwritten. By the
 * writer only.
 */
#ifndef MTRACE_KEYFRAME_H
#define MTRACE_KEYFRAME_H

struct thread_record;

void keyframe_write_modules(void);

/* Those that live, with the names that they have now. */
void keyframe_write_threads(void);

/* One that has ended; written with the next keyframe_write_threads(), or when enough have come together. */
void keyframe_add_thread(const struct thread_record *record);

void keyframe_write_all(void);

#endif
