/*
 * What every fuzz target shares. A target is one property of one reader, in LLVMFuzzerTestOneInput: whatever
 * the bytes are, it returns, reads nothing outside of them (the sanitizers see to that), and what it hands
 * out holds.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Something that must hold for every input; the fuzzer keeps the input where it does not. */
#define require(condition)                                                                                   \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);       \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

/* The input, taken from the front. What is missing at the end reads as 0. */
struct input {
	const uint8_t *at;
	size_t left;
};

static inline void input_take(struct input *input, void *to, size_t bytes)
{
	size_t have = bytes < input->left ? bytes : input->left;
	memset(to, 0, bytes);
	if (have == 0)
		return;
	memcpy(to, input->at, have);
	input->at += have;
	input->left -= have;
}

static inline uint8_t input_byte(struct input *input)
{
	uint8_t value;
	input_take(input, &value, sizeof value);
	return value;
}

/* A number of up to 16 bits, no greater than what is left. */
static inline size_t input_length(struct input *input)
{
	uint16_t value;
	input_take(input, &value, sizeof value);
	return value < input->left ? value : input->left;
}

/* Fills `path` with the name of a file of this process's own, in memory where the system has /dev/shm. */
static inline void scratch_path(char *path, size_t size, const char *name)
{
	bool memory = access("/dev/shm", W_OK) == 0;
	snprintf(path, size, "%s/mtrace-fuzz-%d-%s", memory ? "/dev/shm" : "/tmp", (int)getpid(), name);
}

static inline void scratch_write(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	close(fd);
}

#endif
