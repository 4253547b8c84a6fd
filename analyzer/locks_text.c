#include "analyzer/locks_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/command.h"
#include "analyzer/format.h"
#include "analyzer/locks_exposure.h"
#include "analyzer/model.h"
#include "analyzer/scale.h"

/* ---- numbers ------------------------------------------------------------------------------------------- */

static double per_second(const struct locks_view *view, double count)
{
	return count / fmax(locks_elapsed_s(view->locks), 1e-9);
}

static double to_ns(const struct locks_view *view, uint64_t units)
{
	return (double)trace_units_to_ns(locks_trace(view->locks), units);
}

/* "1.5 us", "12 ms" */
static const char *time_text(char *text, double ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;
	while (i < 3 && ns < units[i].ns)
		i++;
	if (isnan(ns))
		snprintf(text, FORMAT_TEXT_BYTES, "-");
	else
		snprintf(text, FORMAT_TEXT_BYTES, "%.3g %s", ns / units[i].ns, units[i].unit);
	return text;
}

/* "256 ns to 1.02 us": the bucket of a quantile. */
static const char *quantile_text(char *text, const uint64_t *buckets, double quantile)
{
	char from[FORMAT_TEXT_BYTES], to[FORMAT_TEXT_BYTES];
	uint64_t low, high;
	unsigned bucket = lock_quantile(buckets, quantile);
	lock_bucket_ns(bucket, &low, &high);
	if (bucket >= LOCK_BUCKETS)
		snprintf(text, FORMAT_TEXT_BYTES, "-");
	else if (high == UINT64_MAX)
		snprintf(text, FORMAT_TEXT_BYTES, "above %.16s", time_text(from, (double)low));
	else
		snprintf(text, FORMAT_TEXT_BYTES, "%.16s to %.16s", time_text(from, (double)low),
			 time_text(to, (double)high));
	return text;
}

static const char *count_text(char *text, uint64_t count)
{
	return format_count(text, count);
}

/* ---- head ---------------------------------------------------------------------------------------------- */

static void print_kinds(FILE *file, const struct locks_view *view)
{
	fputs("\n  kind             operations/s      acquired      released      contended        failed\n",
	      file);
	for (unsigned kind = 1; kind < LOCK_KINDS; kind++) {
		const struct lock_sums *sums = locks_totals(view->locks, kind);
		if (!lock_operations(sums) && !sums->contended)
			continue;
		fprintf(file, "  %-14s %14.0f %13" PRIu64 " %13" PRIu64 " %14" PRIu64 " %13" PRIu64 "\n",
			lock_kind_name(kind), per_second(view, (double)lock_operations(sums)), sums->acquired,
			sums->released, sums->contended, sums->failed);
	}
}

static void print_head(FILE *file, const struct locks_view *view)
{
	const struct lock_sums *all = locks_totals(view->locks, 0);
	const struct lock_sums held = locks_totals_held(view->locks, true),
			       others = locks_totals_held(view->locks, false);
	char operations[FORMAT_TEXT_BYTES], contended[FORMAT_TEXT_BYTES], length[FORMAT_TEXT_BYTES];
	print_safe(file, trace_info(locks_trace(view->locks))->path);
	fprintf(file,
		": %s operations on locks in %s, %.0f a second\n  %s had to wait for a lock, %.3g threads at "
		"a "
		"time on average; %.3g more where to wait is the purpose (conditions, semaphores, "
		"barriers)\n",
		count_text(operations, lock_operations(all)),
		format_seconds(length, locks_elapsed_s(view->locks)),
		per_second(view, (double)lock_operations(all)), count_text(contended, held.contended),
		per_second(view, to_ns(view, held.wait) / 1e9),
		per_second(view, to_ns(view, others.wait) / 1e9));
	print_kinds(file, view);
}

/* ---- locks --------------------------------------------------------------------------------------------- */

static void print_waits(FILE *file, const struct locks_view *view, const struct lock_sums *sums)
{
	char all[FORMAT_TEXT_BYTES], mean[FORMAT_TEXT_BYTES], half[FORMAT_TEXT_BYTES],
		tenth[FORMAT_TEXT_BYTES], most[FORMAT_TEXT_BYTES], longest[FORMAT_TEXT_BYTES];
	if (!sums->contended)
		return;
	fprintf(file, "      waited %s, mean %s, half within %s, 90%% %s, 99%% %s, longest %s\n",
		time_text(all, to_ns(view, sums->wait)),
		time_text(mean, to_ns(view, sums->wait) / (double)sums->contended),
		quantile_text(half, sums->waits, 0.5), quantile_text(tenth, sums->waits, 0.9),
		quantile_text(most, sums->waits, 0.99), time_text(longest, to_ns(view, sums->wait_longest)));
}

static void print_holds(FILE *file, const struct locks_view *view, const struct lock_sums *sums)
{
	char mean[FORMAT_TEXT_BYTES], most[FORMAT_TEXT_BYTES], measured[FORMAT_TEXT_BYTES];
	if (!sums->held)
		return;
	double ns = to_ns(view, sums->hold) / (double)sums->held;
	fprintf(file, "      held %s on average, 99%% %s (%s measured); %.3g%% of the time\n",
		time_text(mean, ns), quantile_text(most, sums->holds, 0.99), count_text(measured, sums->held),
		100 * per_second(view, ns * (double)sums->acquired / 1e9));
}

static bool print_lock(FILE *file, const struct locks_view *view, size_t rank, const struct lock_row *row)
{
	const struct lock_sums *sums = &row->sums;
	char share[FORMAT_TEXT_BYTES];
	char *name = lock_row_name(view, row);
	if (!name)
		return false;
	fprintf(file, "#%zu  ", rank);
	print_safe(file, name);
	free(name);
	fprintf(file, "\n      %s%s", lock_kind_name(row->kind), row->locks > 1 ? "" : ": ");
	if (row->locks > 1)
		fprintf(file, ", %" PRIu32 " of them: ", row->locks);
	fprintf(file,
		"%.0f operations/s, contended %s, %.3g waiters; used by %" PRIu32 " thread%s%s, %" PRIu32
		" waited\n",
		per_second(view, (double)lock_operations(sums)),
		format_percent(share, (double)sums->contended, (double)(sums->acquired + sums->failed)),
		per_second(view, to_ns(view, sums->wait) / 1e9), row->threads, row->threads == 1 ? "" : "s",
		row->other_threads ? " and others" : "", row->threads_waited);
	print_waits(file, view, sums);
	print_holds(file, view, sums);
	return true;
}

static void print_more(FILE *file, const struct locks_view *view, size_t count, const char *what)
{
	char more[FORMAT_TEXT_BYTES];
	if (view->top && count > view->top)
		fprintf(file, "  %s more %s: --top N, 0 for all\n", count_text(more, count - view->top),
			what);
}

/* Rows of one group, which stand together in `order`. */
static bool print_group(FILE *file, const struct locks_view *view, const size_t *order, size_t count,
			const char *title)
{
	const struct lock_row *rows = locks_rows(view->locks, &(size_t){0});
	bool good = true;
	if (count)
		fprintf(file, "\n%s\n", title);
	for (size_t i = 0; good && i < count && (!view->top || i < view->top); i++)
		good = print_lock(file, view, i + 1, &rows[order[i]]);
	print_more(file, view, count, "of them");
	return good;
}

static bool print_locks(FILE *file, const struct locks_view *view)
{
	size_t count, held = 0;
	size_t *order = lock_rows_order(view->locks, &count);
	const struct lock_row *rows = locks_rows(view->locks, &count);
	while (order && held < count && lock_kind_held(rows[order[held]].kind))
		held++;
	bool good = order && print_group(file, view, order, held, "locks, by the time that threads waited") &&
		    print_group(file, view, order + held, count - held,
				"condition variables, semaphores, barriers, calls of libatomic");
	free(order);
	return good;
}

/* ---- sites --------------------------------------------------------------------------------------------- */

static void print_estimate(FILE *file, const struct estimate *estimate, bool exact)
{
	char value[FORMAT_TEXT_BYTES], low[FORMAT_TEXT_BYTES], high[FORMAT_TEXT_BYTES];
	fputs(count_text(value, (uint64_t)llround(estimate->value)), file);
	if (!exact)
		fprintf(file, " (%s to %s)",
			count_text(low, (uint64_t)llround(fmax(estimate_low(estimate), 0))),
			count_text(high, (uint64_t)llround(fmax(estimate_high(estimate), 0))));
}

static bool print_site(FILE *file, const struct locks_view *view, const struct lock_site *site)
{
	const struct trace *trace = locks_trace(view->locks);
	const bool exact = locks_every(view->locks) == 1;
	struct lock_calls calls = lock_site_operations(site);
	char *name = site_name(view->symbols, trace, site->stack_id), wait[FORMAT_TEXT_BYTES];
	if (!name)
		return false;
	fputs("  ", file);
	print_safe(file, name);
	free(name);
	char *source = lock_site_source(view, site);
	if (source) {
		fputs("  ", file);
		print_safe(file, source);
	}
	free(source);
	fprintf(file, "\n      %s: acquired ", lock_kind_name(site->kind));
	if (calls.known)
		print_estimate(file, &calls.value, exact);
	else
		fputs("unknown", file);
	fputs(", contended ", file);
	print_estimate(file, &site->contended, exact);
	fprintf(file, ", waited %s\n",
		time_text(wait, site->wait.value * (double)trace_units_to_ns(trace, 1024) / 1024));
	return true;
}

static bool print_sites(FILE *file, const struct locks_view *view)
{
	size_t count;
	size_t *order = lock_sites_order(view->locks, &count);
	const struct lock_site *sites = locks_sites(view->locks, &count);
	bool good = order != NULL;
	if (count)
		fprintf(file, "\ncalls that acquire%s\n",
			locks_every(view->locks) == 1
				? ""
				: ", estimated from those chosen by chance; in brackets 95% intervals");
	for (size_t i = 0; good && i < count && (!view->top || i < view->top); i++)
		good = print_site(file, view, &sites[order[i]]);
	print_more(file, view, count, "sites");
	free(order);
	return good;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static bool print_thread(FILE *file, const struct locks_view *view, const struct lock_thread *thread)
{
	const struct lock_sums sums = lock_thread_sums(thread);
	char *name = lock_thread_name(locks_trace(view->locks), thread->thread);
	char wait[FORMAT_TEXT_BYTES], operations[FORMAT_TEXT_BYTES], contended[FORMAT_TEXT_BYTES];
	if (!name)
		return false;
	fputs("  ", file);
	print_safe(file, name);
	free(name);
	fprintf(file, ": %s operations, %s contended, waited %s\n",
		count_text(operations, lock_operations(&sums)), count_text(contended, sums.contended),
		time_text(wait, to_ns(view, sums.wait)));
	return true;
}

static bool print_threads(FILE *file, const struct locks_view *view)
{
	size_t count;
	size_t *order = lock_threads_order(view->locks, &count);
	const struct lock_thread *threads = locks_threads(view->locks, &count);
	bool good = order != NULL;
	fputs("\nthreads\n", file);
	for (size_t i = 0; good && i < count && (!view->top || i < view->top); i++)
		good = print_thread(file, view, &threads[order[i]]);
	print_more(file, view, count, "threads");
	free(order);
	return good;
}

/* ---- exposure ------------------------------------------------------------------------------------------ */

static void print_exposure(FILE *file, const struct locks_view *view)
{
	const struct lock_exposure exposure = lock_exposure(view->locks, view->cpus);
	fprintf(file,
		"\nexposure to the atomic instructions of glibc\n  %.4g a second, by the number that each "
		"call takes without contention",
		exposure.atomics_per_s);
	if (!isnan(view->per_operation))
		fprintf(file, "; %.4g for each operation of the client", view->per_operation);
	if (!isnan(exposure.cpus))
		fprintf(file, "; %.3g CPUs busy", exposure.cpus);
	fputc('\n', file);
	for (size_t i = 0; i < view->saved_count; i++) {
		double percent = lock_gain_percent(&exposure, view->saved_ns[i]);
		if (isinf(percent))
			fprintf(file,
				"  each of them cannot take %.3g ns less: that is more than all the time\n",
				view->saved_ns[i]);
		else if (!isnan(percent))
			fprintf(file,
				"  if each of them took %.3g ns less, throughput could grow by at most "
				"%.3g%%\n",
				view->saved_ns[i], percent);
	}
	fputs("  Not seen: glibc's own locks (malloc's arenas, stdio), and atomics that are compiled into "
	      "the "
	      "program,\n  which no glibc changes: `mtrace-analyze atomics` tells which they are.\n",
	      file);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

bool locks_print_summary(FILE *file, const struct locks_view *view)
{
	print_head(file, view);
	if (!print_locks(file, view))
		return false;
	print_exposure(file, view);
	return true;
}

bool locks_print(FILE *file, const struct locks_view *view)
{
	print_head(file, view);
	if (!print_locks(file, view) || !print_sites(file, view) || !print_threads(file, view))
		return false;
	print_exposure(file, view);
	return true;
}
