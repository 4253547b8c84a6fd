/*
 * Reading a trace file, and the rings file beside it: definitions, counters, clock, damage. The events
 * themselves come from analyzer/merge.h, which goes through the blocks in order.
 *
 * trace_open() reads the headers of all blocks, the definitions, and the rings file, but no events. Input is
 * never trusted: every length is checked, blocks that fail their checksum are passed over and listed as
 * damage, and what lies behind them is read.
 *
 * Times are in time units (trace/event.h) unless the name says otherwise.
 */
#ifndef MTRACE_READER_H
#define MTRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "trace/event.h"
#include "trace/layout.h"

struct trace;
struct allocstats;

enum trace_mode {
	TRACE_MODE_UNKNOWN = 0, /* the process block is damaged */
	TRACE_MODE_SAMPLE = 1,
	TRACE_MODE_FULL = 2,
};

/* What is known without decoding events. Owned by the trace, valid until trace_close(). */
struct trace_info {
	const char *path;
	uint32_t format_version;
	enum trace_mode mode;
	uint64_t sample_bytes; /* sample mode: mean bytes between samples; 0 where unknown */
	bool complete;	       /* ended by itself: has its end record */
	uint32_t end_reason;   /* enum end_reason where complete */
	int32_t end_status;
	bool flight_recorder;  /* old blocks may have been overwritten */
	bool rings;	       /* a rings file of this trace was read */
	uint64_t trace_bytes;  /* size of the file */
	uint64_t stored_bytes; /* all blocks ever written: headers and stored payloads, overwritten ones
				  included */
	uint64_t raw_bytes;    /* the same before compression */
	uint64_t blocks;       /* whole or not, as found in the file */
	uint64_t first_time;   /* start of the trace or, in a flight recorder, of what is left of it */
	uint64_t last_time;
	bool counters_known;		  /* false: neither snapshot nor rings file could be read */
	uint64_t counters[COUNTER_COUNT]; /* exact totals, by enum counter */
	uint64_t lost;			  /* sum of the LOST counters */
};

/* From the module list. `path` and `build_id` are owned by the trace. */
struct trace_module {
	uint64_t start;
	uint64_t end;
	uint64_t bias; /* run-time address minus address in the ELF file */
	uint64_t loaded_time;
	uint64_t unloaded_time; /* 0: still there at the end */
	const char *path;
	const uint8_t *build_id;
	size_t build_id_bytes; /* 0: has none */
};

struct trace_thread {
	uint32_t thread;
	uint32_t kernel_tid;
	uint64_t start_time; /* 0 where unknown */
	uint64_t exit_time;  /* 0: not seen to end */
	char name[16];	     /* NUL-terminated, may be empty */
};

/* A stretch of a file that could not be read. */
struct trace_damage {
	const char *file; /* the trace's path or that of its rings file */
	uint64_t offset_bytes;
	uint64_t bytes; /* passed over */
	char text[120];
};

#define TRACE_DAMAGE_MAX 256 /* entries kept; trace_damage_count() counts on */

/* Return addresses of a stack, innermost first; owned by the trace. */
struct trace_stack {
	const uint64_t *frames;
	unsigned depth;
};

/*
 * Opens `path`. NULL with `error` filled in (ERROR_INPUT, file, offset) where it cannot be read at all:
 * missing, empty, not a trace, another version. Everything less than that opens, with trace_damage(). Free
 * with trace_close().
 */
struct trace *trace_open(const char *path, struct error *error);
void trace_close(struct trace *trace); /* NULL is fine */

const struct trace_info *trace_info(const struct trace *trace);

/* A line of the process block, as it is there: keys may occur more than once. */
struct process_key {
	char *name;
	char *value;
};
const struct process_key *trace_keys(const struct trace *trace, size_t *count);

/* A key of the process block (FORMAT.md lists them), unescaped; NULL where it is not there. */
const char *trace_key(const struct trace *trace, const char *key);
/* The same as a decimal number; false where it is not there or not a number. */
bool trace_key_number(const struct trace *trace, const char *key, uint64_t *value);

/* Sorted by start address, then load time; *count is set. Pointers stay valid until trace_close(). */
const struct trace_module *trace_modules(const struct trace *trace, size_t *count);

/* Sorted by thread number. */
const struct trace_thread *trace_threads(const struct trace *trace, size_t *count);
/* NULL where the trace does not define it. */
const struct trace_thread *trace_thread(const struct trace *trace, uint32_t thread);

/*
 * The stack behind an id. Definitions stand among the events: all are known only after merge_next() has given
 * MERGE_END. False where the id is 0 or (yet) unknown. The frames stay valid until more events are read.
 */
bool trace_stack(const struct trace *trace, uint32_t stack_id, struct trace_stack *stack);
size_t trace_stacks_count(const struct trace *trace);

/* The newest allocator record that can be read (analyzer/allocstats.h); its kind is 0 where there is none. */
const struct allocstats *trace_allocator(const struct trace *trace);

/* Damage, in the order found; complete after MERGE_END. *count never exceeds TRACE_DAMAGE_MAX. */
const struct trace_damage *trace_damage(const struct trace *trace, size_t *count);
uint64_t trace_damage_count(const struct trace *trace);

/* Things worth a line that are no damage, e.g. a rings file that belongs to another trace. */
const char *const *trace_notes(const struct trace *trace, size_t *count);

/* ---- clock --------------------------------------------------------------------------------------------- */

/*
 * Wall clock (CLOCK_REALTIME, ns since 1970) at `time`: linear between the two clock marks around it, beyond
 * the outer marks with the slope of the nearest pair, or with the nominal rate where there is one mark only.
 * 0 where the trace has neither.
 */
int64_t trace_realtime_ns(const struct trace *trace, uint64_t time);

/* CLOCK_MONOTONIC likewise: use this one for durations, the wall clock may be stepped. */
int64_t trace_monotonic_ns(const struct trace *trace, uint64_t time);

/* The time at which tracing began; 0 where unknown. */
uint64_t trace_start_time(const struct trace *trace);

/* Seconds from the start of the trace (the process's start of tracing, also in a flight recorder) to `time`.
 */
double trace_seconds(const struct trace *trace, uint64_t time);

/* Length of a span in ns, at the nominal rate. */
uint64_t trace_units_to_ns(const struct trace *trace, uint64_t units);

/* The period of the snapshots, in time units; 0 where unknown. */
uint64_t trace_interval(const struct trace *trace);

#endif
