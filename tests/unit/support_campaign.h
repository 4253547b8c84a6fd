/* Folders of campaigns (docs/campaign.md), as small as a reader accepts them. */
#ifndef MTRACE_TESTS_SUPPORT_CAMPAIGN_H
#define MTRACE_TESTS_SUPPORT_CAMPAIGN_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/support_trace.h"

#define CAMPAIGN_START_MS 1780228800000LL /* 2026-05-31 12:00:00 UTC */
#define CAMPAIGN_RUN_S	  20

struct campaign_run {
	unsigned number, block, threads;
	const char *arm;
	double ops_s;
	bool warmup;
	const char *state;    /* NULL: done */
	const char *settings; /* members of the object; NULL: none */
};

static char campaign_folder[512];

__attribute__((format(printf, 2, 3))) static inline void campaign_write(const char *name, const char *format,
									...)
{
	char path[1024], text[8192];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	cr_assert(length >= 0 && (size_t)length < sizeof text);
	snprintf(path, sizeof path, "%s/%s", campaign_folder, name);
	support_write_file(path, text, (size_t)length);
}

/* `arms` and `treatment` as JSON arrays. */
static inline void campaign_start(const char *arms, const char *treatment)
{
	char runs[600];
	snprintf(campaign_folder, sizeof campaign_folder, "%s", support_path("campaign"));
	snprintf(runs, sizeof runs, "%s/runs", campaign_folder);
	mkdir(campaign_folder, 0777);
	mkdir(runs, 0777);
	campaign_write(
		"campaign.json",
		"{\"campaign_version\":1,\"axis\":\"thp\",\"arms\":%s,\"treatment\":%s,\"order\":\"ABBA\","
		"\"workload\":{\"kind\":\"embedded\",\"name\":\"workloada\"}}",
		arms, treatment);
}

static inline long long campaign_start_ms(const struct campaign_run *run)
{
	return CAMPAIGN_START_MS + 60000LL * run->number;
}

/* Output with a summary whose counts and means agree with throughput and level; of two operations half each.
 */
static inline void campaign_output(const char *name, const struct campaign_run *run)
{
	double operations = 2 * (double)(long)(run->ops_s * CAMPAIGN_RUN_S / 2);
	double mean_us = run->threads * 1e6 * CAMPAIGN_RUN_S / operations;
	campaign_write(name,
		       "java site.ycsb.Client -t -threads %u -p recordcount=1000 -p maxexecutiontime=%d\n"
		       "[OVERALL], RunTime(ms), %d\n[OVERALL], Throughput(ops/sec), %.10f\n"
		       "[READ], Operations, %.0f\n[READ], AverageLatency(us), %.6f\n"
		       "[READ], 95thPercentileLatency(us), %.0f\n[READ], Return=OK, %.0f\n"
		       "[UPDATE], Operations, %.0f\n[UPDATE], AverageLatency(us), %.6f\n"
		       "[UPDATE], 95thPercentileLatency(us), %.0f\n[UPDATE], Return=OK, %.0f\n"
		       "[CLEANUP], Operations, %u\n",
		       run->threads, CAMPAIGN_RUN_S, CAMPAIGN_RUN_S * 1000, operations / CAMPAIGN_RUN_S,
		       operations / 2, mean_us, 2 * mean_us, operations / 2, operations / 2, mean_us,
		       3 * mean_us, operations / 2, run->threads);
}

static inline void campaign_add(const struct campaign_run *run)
{
	char folder[700], name[64];
	snprintf(folder, sizeof folder, "%s/runs/%04u", campaign_folder, run->number);
	mkdir(folder, 0777);
	snprintf(name, sizeof name, "runs/%04u/ycsb.txt", run->number);
	campaign_output(name, run);
	snprintf(name, sizeof name, "runs/%04u/manifest.json", run->number);
	campaign_write(
		name,
		"{\"run\":%u,\"block\":%u,\"arm\":\"%s\",\"threads\":%u,\"warmup\":%s,\"state\":\"%s\","
		"\"reason\":\"stopped\",\"started_unix_ms\":%lld,\"ended_unix_ms\":%lld,"
		"\"records_expected\":1000,\"records_counted\":1000,\"settings\":{%s}}",
		run->number, run->block, run->arm, run->threads, run->warmup ? "true" : "false",
		run->state ? run->state : "done", campaign_start_ms(run),
		campaign_start_ms(run) + 1000LL * CAMPAIGN_RUN_S, run->settings ? run->settings : "");
}

#endif
