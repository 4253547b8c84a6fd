/*
 * ycsb-embedded: YCSB's core workload on a storage engine inside this process.
 *
 * stdout holds the export block of each phase, stderr everything else, both in the form of YCSB 0.17.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/client.h"
#include "bench/failure.h"
#include "bench/javatext.h"
#include "bench/properties.h"
#include "bench/store.h"
#include "bench/workload.h"

#define PROGRAM "ycsb-embedded"

struct options {
	bool load;
	bool run;
	bool count;
	const struct engine *engine;
	struct properties *properties;
	struct client_settings client;
	const char *export_path; /* NULL: stdout */
	char **words;		 /* of the command line after phase and engine */
	int word_count;
};

static const char help_text[] =
	"usage: ycsb-embedded load|run|both|count [ENGINE] [-s] [-threads N] [-target N] [-l LABEL] [-P "
	"FILE]... "
	"[-p NAME=VALUE]...\n"
	"\n"
	"Runs YCSB's core workload on a storage engine inside this process. Prints YCSB's export block on "
	"stdout and,\n"
	"with -s, its status lines on stderr. count prints how many records a store holds.\n"
	"\n"
	"  -s            a status line every status.interval seconds\n"
	"  -threads N    client threads (as -p threadcount=N)\n"
	"  -target N     operations a second over all threads (as -p target=N); default: as many as there "
	"can be\n"
	"  -l LABEL      text before the time in status lines\n"
	"  -P FILE       properties file; later ones win over earlier ones, -p over all of them\n"
	"  -p NAME=VALUE one property\n"
	"\n"
	"Properties and defaults, as in YCSB:\n"
	"  recordcount=1000 insertstart=0 insertcount=(recordcount - insertstart)\n"
	"  operationcount=1000 (none where maxexecutiontime is given) maxexecutiontime=0 (seconds; 0: no "
	"limit)\n"
	"  threadcount=1 target=0 status.interval=10 hdrhistogram.percentiles=95,99 exportfile=(stdout)\n"
	"  readproportion=0.6 updateproportion=0.25 insertproportion=0 scanproportion=0.15 "
	"readmodifywriteproportion=0\n"
	"      (weights: they need not add up to 1)\n"
	"  requestdistribution=zipfian|uniform|latest insertorder=hashed|ordered zeropadding=1\n"
	"  minscanlength=1 maxscanlength=1000 scanlengthdistribution=uniform|zipfian\n"
	"  fieldcount=10 fieldlength=100 readallfields=true writeallfields=false\n"
	"Properties of this program:\n"
	"  ENGINE.dir=   the store's folder, which is kept; default: a fresh one under TMPDIR, removed at "
	"the end\n"
	"  ENGINE.cache=1G (K, M, G)   ENGINE.config=   settings in the engine's own syntax, stronger than "
	"ours\n"
	"  wiredtiger.table=  settings of the table that a load makes (block_compressor and the like)\n"
	"  clientcopy=field|document   what is read is copied into a block for each field, or for each "
	"document\n"
	"  seed=1        of all random numbers\n"
	"\n"
	"Exit status: 0 done; 1 an operation, the engine or the system failed; 2 wrong usage; 128 + N ended "
	"by signal N\n"
	"(the results up to then are printed).\n";

static void print_help(FILE *out)
{
	fputs(help_text, out);
	fputs("\nEngines of this build, the default first:", out);
	for (size_t i = 0; store_engines[i]; i++)
		fprintf(out, " %s (%s)", store_engines[i]->name, store_engines[i]->product);
	fputs(store_engines[0] ? "\n" : " none\n", out);
}

/* ---- command line ---- */

static bool choose_phases(struct options *options, const char *word, struct failure *failure)
{
	bool both = !strcmp(word, "both");

	options->load = both || !strcmp(word, "load");
	options->run = both || !strcmp(word, "run");
	options->count = !strcmp(word, "count");
	return options->load || options->run || options->count ||
	       failure_set(failure, EXIT_WRONG_USAGE, "%s: expected load, run, both or count (see --help)",
			   word);
}

/* Where ENGINE is left out, the first of this build. Returns the number of words used. */
static int choose_engine(struct options *options, const char *word, struct failure *failure)
{
	bool named = word && word[0] != '-';

	options->engine = named ? store_find_engine(word, failure) : store_engines[0];
	if (!options->engine)
		failure_set(failure, EXIT_WRONG_USAGE,
			    "this build has no engine: install libwiredtiger-dev or librocksdb-dev and build "
			    "again");
	return named;
}

/* The option's value goes where its name says. Files and single properties are kept apart until all is read.
 */
static bool take_option(struct options *options, const char *name, const char *value,
			struct properties *files, struct failure *failure)
{
	if (!strcmp(name, "-threads"))
		properties_set(options->properties, "threadcount", value);
	else if (!strcmp(name, "-target"))
		properties_set(options->properties, "target", value);
	else if (!strcmp(name, "-l"))
		options->client.label = value;
	else if (!strcmp(name, "-P"))
		return properties_load(files, value, failure);
	else
		return properties_set_argument(options->properties, value, failure);
	return true;
}

static bool is_valued_option(const char *word)
{
	static const char *const names[] = {"-threads", "-target", "-l", "-P", "-p"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(word, names[i]))
			return true;
	return false;
}

static bool read_words(struct options *options, struct properties *files, struct failure *failure)
{
	for (int i = 0; i < options->word_count; i++) {
		const char *word = options->words[i];

		if (!strcmp(word, "-s")) {
			options->client.status = true;
			continue;
		}
		if (!is_valued_option(word))
			return failure_set(failure, EXIT_WRONG_USAGE, "%s: unknown option (see --help)",
					   word);
		if (++i == options->word_count)
			return failure_set(failure, EXIT_WRONG_USAGE, "%s: expected a value after it", word);
		if (!take_option(options, word, options->words[i], files, failure))
			return false;
	}
	return true;
}

static bool read_options(struct options *options, struct failure *failure)
{
	struct properties *files = properties_new(), *given = properties_new();
	bool done;

	options->properties = given;
	done = read_words(options, files, failure);
	properties_merge(files, given);
	properties_free(given);
	options->properties = files;
	return done;
}

/* ---- properties of the client ---- */

static bool read_percentiles(struct options *options, struct failure *failure)
{
	static const char name[] = "hdrhistogram.percentiles";
	const char *text = properties_get(options->properties, name), *at;
	struct client_settings *client = &options->client;

	at = text ? text : "95,99";
	for (client->percentile_count = 0; client->percentile_count < PERCENTILES_MOST; at++) {
		char *end;
		double percent = strtod(at, &end);

		if (end == at || !(percent > 0 && percent <= 100) || (*end && *end != ','))
			break;
		client->percentiles[client->percentile_count++] = percent;
		if (!*end)
			return true;
		at = end;
	}
	return failure_set(
		failure, EXIT_WRONG_USAGE,
		"property %s=%s: expected at most %d numbers above 0 and up to 100, separated by commas",
		name, text, PERCENTILES_MOST);
}

static bool read_client(struct options *options, struct failure *failure)
{
	/* An hour is longer than any wait that makes sense; a century keeps nanoseconds within 64 bits. */
	enum { THREADS_MOST = 10000, INTERVAL_MOST_S = 3600 };
	const uint64_t century_s = UINT64_C(100) * 366 * 86400;
	struct client_settings *client = &options->client;
	uint64_t threads;

	if (!properties_count(options->properties, "threadcount", 1, 1, THREADS_MOST, &threads, failure) ||
	    !properties_real(options->properties, "target", 0, 0, 1e9, &client->target_ops_s, failure) ||
	    !properties_count(options->properties, "maxexecutiontime", 0, 0, century_s, &client->time_limit_s,
			      failure) ||
	    !properties_count(options->properties, "status.interval", 10, 1, INTERVAL_MOST_S,
			      &client->status_interval_s, failure) ||
	    !read_percentiles(options, failure))
		return false;
	client->threads = (unsigned)threads;
	options->export_path = properties_get(options->properties, "exportfile");
	return true;
}

static void note_unread(void *context, const char *name)
{
	(void)context;
	fprintf(stderr, PROGRAM ": property %s has no effect here\n", name);
}

/* ---- phases ---- */

static void print_preamble(const struct options *options, const struct workload *workload, bool loading)
{
	fprintf(stderr, PROGRAM ": part of mtrace; %s in this process, output in the form of YCSB 0.17\n",
		options->engine->product);
	fprintf(stderr, "Command line: -db %s", options->engine->name);
	for (int i = 0; i < options->word_count; i++)
		fprintf(stderr, " %s", options->words[i]);
	fprintf(stderr, " %s\nYCSB Client 0.17.0\n\n", loading ? "-load" : "-t");
	if (!loading)
		fprintf(stderr,
			PROGRAM ": mix of read %g, update %g, insert %g, scan %g, read-modify-write %g\n",
			workload->mix[OP_READ], workload->mix[OP_UPDATE], workload->mix[OP_INSERT],
			workload->mix[OP_SCAN], workload->mix[OP_READ_MODIFY_WRITE]);
	fputs("Loading workload...\nStarting test.\n", stderr);
}

/* A run on fewer records than it is told measures misses: worth a word before the minutes are spent. */
static bool check_last_record(struct store *store, const struct workload *workload, struct failure *failure)
{
	char key[KEY_BYTES];

	key_name(key, workload->insert_start + workload->insert_count - 1, &workload->naming);
	if (!store_holds(store, key, failure) && !failure->exit_status)
		fprintf(stderr,
			PROGRAM ": the last record, %s, is not in the store: was it loaded with fewer than "
				"recordcount=%llu "
				"records, or another insertorder?\n",
			key, (unsigned long long)workload->record_count);
	return !failure->exit_status;
}

static bool run_phase(const struct options *options, struct workload *workload, struct store *store,
		      bool loading, FILE *out, struct client_result *result, struct failure *failure)
{
	print_preamble(options, workload, loading);
	if (!loading && !check_last_record(store, workload, failure))
		return false;
	if (!client_run(&options->client, workload, store->engine, store->handle, loading, out, result,
			failure))
		return false;
	if (fflush(out) || ferror(out))
		return failure_set(failure, EXIT_FAILED, "cannot write the results: %s", strerror(errno));
	if (result->errors)
		return failure_set(failure, EXIT_FAILED,
				   "%llu operations of the %s phase failed (Return=ERROR)",
				   (unsigned long long)result->errors, loading ? "load" : "run");
	if (loading && result->operations < workload->insert_count && !result->interrupted)
		return failure_set(
			failure, EXIT_FAILED,
			"only %llu of %llu records were loaded when maxexecutiontime was over: raise it",
			(unsigned long long)result->operations, (unsigned long long)workload->insert_count);
	return true;
}

static bool run_phases(const struct options *options, struct workload *workload, struct store *store,
		       FILE *out, struct failure *failure)
{
	struct client_result result = {0};

	if (options->load && !run_phase(options, workload, store, true, out, &result, failure))
		return false;
	return !options->run || result.interrupted ||
	       run_phase(options, workload, store, false, out, &result, failure);
}

static bool print_count(struct store *store, FILE *out, struct failure *failure)
{
	uint64_t records;

	if (!store_count(store, &records, failure))
		return false;
	fprintf(out, "%llu\n", (unsigned long long)records);
	return !fflush(out) ||
	       failure_set(failure, EXIT_FAILED, "cannot write the count: %s", strerror(errno));
}

static bool run_in_store(const struct options *options, struct workload *workload, FILE *out,
			 struct failure *failure)
{
	struct store store;
	bool done;

	/* One session more than threads, for the checks before a run. */
	if (!store_configure(&store, options->engine, options->properties, options->client.threads + 1,
			     failure))
		return false;
	properties_unread(options->properties, note_unread, NULL);
	if (!store.given && options->load && !options->run)
		fprintf(stderr, PROGRAM ": the store is removed at the end; -p %s.dir=FOLDER keeps it\n",
			options->engine->name);
	done = store_open(&store, !options->load, failure) &&
	       (options->count ? print_count(&store, out, failure)
			       : run_phases(options, workload, &store, out, failure));
	return store_close(&store, failure) && done;
}

static bool run_with_output(const struct options *options, struct workload *workload, struct failure *failure)
{
	FILE *out = options->export_path ? fopen(options->export_path, "w") : stdout;
	bool done;

	if (!out)
		return failure_set(failure, EXIT_FAILED, "property exportfile=%s: %s", options->export_path,
				   strerror(errno));
	done = run_in_store(options, workload, out, failure);
	if (out != stdout && fclose(out))
		done = failure_set(failure, EXIT_FAILED, "%s: %s", options->export_path, strerror(errno));
	return done;
}

static bool run_program(int argc, char **argv, struct failure *failure)
{
	struct options options = {.client.label = ""};
	struct workload workload = {0};
	int words = 2;
	bool done = false;

	if (!choose_phases(&options, argv[1], failure))
		return false;
	words += choose_engine(&options, argc > 2 ? argv[2] : NULL, failure);
	if (failure->exit_status)
		return false;
	options.words = argv + words;
	options.word_count = argc - words;
	if (read_options(&options, failure) && read_client(&options, failure) &&
	    workload_init(&workload, options.properties, options.client.time_limit_s > 0, failure))
		done = run_with_output(&options, &workload, failure);
	workload_destroy(&workload);
	properties_free(options.properties);
	return done;
}

/* ---- signals ---- */

static _Atomic int caught_signal;

/* The first one ends the phase in order; the second, with its default action, the program. */
static void on_signal(int number)
{
	atomic_store_explicit(&caught_signal, number, memory_order_relaxed);
	client_interrupt();
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int main(int argc, char **argv)
{
	struct failure failure = {0};
	int number;

	if (argc < 2) {
		print_help(stderr);
		return EXIT_WRONG_USAGE;
	}
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			print_help(stdout);
			return EXIT_DONE;
		}
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a status line is one write */
	catch_signals();
	if (!run_program(argc, argv, &failure))
		return failure_print(&failure, PROGRAM);
	number = atomic_load_explicit(&caught_signal, memory_order_relaxed);
	return number ? 128 + number : EXIT_DONE;
}
