/*
 * A stand-in for YCSB (with --java first) and for go-ycsb in the tests of campaigns. Its operations are pings
 * of a MongoDB server; a load tells the server how many documents it has now. Output, options and the way it
 * ends are those of the program it stands in for: Java's counts until maxexecutiontime, go-ycsb does not know
 * that property, ends in order at the first signal and loses its table at the second.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mongoc/mongoc.h>

static const char *phase = "", *url = "", *threads = "1";
static long records, limit_s, operations_most;
static volatile sig_atomic_t signals;

static void note(int number)
{
	(void)number;
	signals++;
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void read_property(const char *pair)
{
	const char *value = strchr(pair, '=');
	if (!value++)
		exit(2);
	if (!strncmp(pair, "recordcount=", 12))
		records = atol(value);
	else if (!strncmp(pair, "operationcount=", 15))
		operations_most = atol(value);
	else if (!strncmp(pair, "maxexecutiontime=", 17))
		limit_s = atol(value);
	else if (!strncmp(pair, "mongodb.url=", 12))
		url = value;
	else if (!strncmp(pair, "threadcount=", 12))
		threads = value;
}

static void read_words(int argc, char **argv, int first)
{
	phase = argv[first];
	for (int i = first + 2; i < argc; i++) {
		if (!strcmp(argv[i], "-s"))
			continue;
		if (i + 1 == argc)
			exit(2);
		if (!strcmp(argv[i], "-p"))
			read_property(argv[++i]);
		else if (!strcmp(argv[i], "-threads"))
			threads = argv[++i];
		else if (strcmp(argv[i], "-P") || access(argv[++i], R_OK))
			exit(2);
	}
}

static void ask(mongoc_client_t *client, const char *command, int64_t value)
{
	bson_error_t error;
	bson_t *request = BCON_NEW(command, BCON_INT64(value));
	if (!mongoc_client_command_simple(client, "admin", request, NULL, NULL, &error)) {
		printf("stand-in ycsb: %s\n", error.message);
		exit(0); /* as YCSB does: nobody may trust its exit status */
	}
	bson_destroy(request);
}

static void print_java(const char *name, long done, double took_s)
{
	printf("[OVERALL], RunTime(ms), %.0f\n[OVERALL], Throughput(ops/sec), %f\n", took_s * 1000,
	       (double)done / took_s);
	printf("[CLEANUP], Operations, %s\n[CLEANUP], AverageLatency(us), 1.0\n", threads);
	printf("[%s], Operations, %ld\n[%s], AverageLatency(us), 100.0\n[%s], Return=OK, %ld\n", name, done,
	       name, name, done);
}

static void print_go(const char *name, long done, double took_s)
{
	static const char *const lines[] = {"TOTAL", NULL};
	printf("**********************************************\nRun finished, takes %fs\n", took_s);
	for (int i = 0; i < 2; i++)
		printf("%-6s - Takes(s): %.1f, Count: %ld, OPS: %.1f, Avg(us): 100, Min(us): 10, Max(us): "
		       "900, 50th(us): 90, "
		       "90th(us): 200, 95th(us): 300, 99th(us): 400, 99.9th(us): 500, 99.99th(us): 600\n",
		       i ? lines[0] : name, took_s, done, (double)done / took_s);
}

int main(int argc, char **argv)
{
	bool java = argc > 1 && !strcmp(argv[1], "--java"), load;
	mongoc_client_t *client;
	double start = now_s();
	long done = 0;

	if (argc < 3 + java)
		return 2;
	read_words(argc, argv, 1 + java);
	load = !strcmp(phase, "load");
	if (!java) {
		struct sigaction action = {.sa_handler = note};
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		printf("***************** properties "
		       "*****************\n\"recordcount\"=\"%ld\"\n\"threadcount\"=\"%s\"\n"
		       "**********************************************\n",
		       records, threads);
	} else {
		fprintf(stderr,
			"Command line: -db x -threads %s -p recordcount=%ld %s\nYCSB Client 0.17.0\n\n",
			threads, records, load ? "-load" : "-t");
	}
	mongoc_init();
	client = mongoc_client_new(url);
	if (!client)
		return 2;
	if (load) {
		ask(client, "standInLoad", records);
		done = records;
	}
	while (!load && done < operations_most && (java ? now_s() - start < (double)limit_s : !signals)) {
		ask(client, "ping", 1);
		done++;
	}
	usleep(300000); /* a second signal would come now */
	if (java)
		print_java(load ? "INSERT" : "READ", done, now_s() - start);
	else if (signals < 2)
		print_go(load ? "INSERT" : "READ", done, now_s() - start);
	return signals < 2 ? 0 : 1;
}
