/*
 * A program that goes away from where it started, as root. Usage: jail FOLDER [drop]
 * It changes its folder, its root to FOLDER, and with `drop` its user, then allocates on an old and on a new
 * thread.
 */
#include "tests/host/guest.h"

#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>

enum { ALLOCS = 20000, NOBODY = 65534 };

static sem_t may_go;

static void *allocate(void *argument)
{
	for (int i = 0; i < ALLOCS; i++) {
		char *p = malloc((size_t)(1 + i % 2000));
		require(p);
		*p = 1;
		free(p);
	}
	return argument;
}

static void *wait_and_allocate(void *argument)
{
	while (sem_wait(&may_go) != 0) /* the change of user interrupts every thread */
		continue;
	if (argument)
		check(getuid() == NOBODY && geteuid() == NOBODY && getgid() == NOBODY);
	return allocate(argument);
}

static void drop_user(void)
{
	require(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
	check(setuid(0) == -1 && errno == EPERM);
}

int main(int argc, char **argv)
{
	require(argc >= 2);
	bool drops = argc > 2 && strcmp(argv[2], "drop") == 0;
	pthread_t before, after;
	sem_init(&may_go, 0, 0);
	require(pthread_create(&before, NULL, wait_and_allocate, drops ? &may_go : NULL) == 0);
	allocate(NULL);
	require(chdir("/") == 0 && chroot(argv[1]) == 0 && chdir("/") == 0);
	umask(0777);
	if (drops)
		drop_user();
	sem_post(&may_go);
	allocate(NULL);
	require(pthread_create(&after, NULL, allocate, NULL) == 0);
	pthread_join(before, NULL);
	pthread_join(after, NULL);
	say("worked in jail, %s exists: %s", argv[1], access(argv[1], F_OK) == 0 ? "yes" : "no");
	return 0;
}
