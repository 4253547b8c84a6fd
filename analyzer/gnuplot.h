/*
 * Running gnuplot on a script of ours, without a shell.
 *
 * gnuplot starts in the script's folder and is given nothing but the script's name, so no path of the user's
 * reaches its language; it reads no initialization file (-d), and its own output goes nowhere but into a
 * message.
 */
#ifndef MTRACE_GNUPLOT_H
#define MTRACE_GNUPLOT_H

#include <stddef.h>

enum gnuplot_result {
	GNUPLOT_DONE,
	GNUPLOT_MISSING, /* no program of that name on PATH */
	GNUPLOT_FAILED,
};

/*
 * Runs `program` ("gnuplot") on `script`, a file name in `directory`, and waits for it. Where it fails,
 * `message` says why in one line (the first that gnuplot printed).
 */
enum gnuplot_result gnuplot_run(const char *program, const char *directory, const char *script, char *message,
				size_t message_bytes);

#endif
