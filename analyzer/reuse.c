#include "analyzer/reuse.h"

#include <stdlib.h>

#include "analyzer/array.h"

#define DEPTH_FIRST 16u

/*
 * For each block in the stack the largest height since it was pushed. Popping a block hands its maximum down
 * to the one below, which has seen the same heights. A ring, so that the oldest can be dropped.
 */
struct stack {
	uint64_t *peaks; /* heights count from the first push, and grow for ever as blocks are dropped */
	uint32_t room;	 /* a power of two */
	uint32_t count;
	uint64_t height; /* of the top */
};

struct reuse_cache {
	struct stack stacks[CACHE_CLASSES_MAX];
};

struct reuse {
	struct reuse_class classes[CACHE_CLASSES_MAX];
	struct reuse_cache **caches;
	size_t count, capacity;
};

struct reuse *reuse_create(void)
{
	return calloc(1, sizeof(struct reuse));
}

void reuse_free(struct reuse *reuse)
{
	if (!reuse)
		return;
	for (size_t i = 0; i < reuse->count; i++) {
		for (unsigned class = 0; reuse->caches[i] && class < CACHE_CLASSES_MAX; class ++)
			free(reuse->caches[i]->stacks[class].peaks);
		free(reuse->caches[i]);
	}
	free(reuse->caches);
	free(reuse);
}

static struct stack *stack_of(struct reuse *reuse, uint32_t cache, unsigned class)
{
	if (!array_reserve(&reuse->caches, &reuse->capacity, (size_t)cache + 1, sizeof *reuse->caches))
		return NULL;
	while (reuse->count <= cache)
		reuse->caches[reuse->count++] = NULL;
	if (!reuse->caches[cache])
		reuse->caches[cache] = calloc(1, sizeof **reuse->caches);
	return reuse->caches[cache] ? &reuse->caches[cache]->stacks[class] : NULL;
}

static uint64_t *peak_at(const struct stack *stack, uint64_t height)
{
	return &stack->peaks[height & (stack->room - 1)];
}

static bool stack_grow(struct stack *stack)
{
	struct stack grown = *stack;
	grown.room = stack->room ? stack->room * 2 : DEPTH_FIRST;
	grown.peaks = malloc(grown.room * sizeof *grown.peaks);
	if (!grown.peaks)
		return false;
	for (uint32_t i = 0; i < stack->count; i++)
		*peak_at(&grown, stack->height - i) = *peak_at(stack, stack->height - i);
	free(stack->peaks);
	*stack = grown;
	return true;
}

bool reuse_give(struct reuse *reuse, uint32_t cache, unsigned class)
{
	struct stack *stack = stack_of(reuse, cache, class);
	if (!stack || (stack->count == stack->room && stack->room < REUSE_DEPTH_MAX && !stack_grow(stack)))
		return false;
	stack->height++;
	stack->count += stack->count < stack->room;
	*peak_at(stack, stack->height) = stack->height;
	return true;
}

static unsigned bin_of(uint64_t distance)
{
	return distance <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(distance - 1);
}

bool reuse_take(struct reuse *reuse, uint32_t cache, unsigned class)
{
	struct stack *stack = stack_of(reuse, cache, class);
	if (!stack)
		return false;
	if (!stack->count) {
		reuse->classes[class].cold++;
		return true;
	}
	uint64_t peak = *peak_at(stack, stack->height);
	uint64_t distance = peak - stack->height + 1;
	unsigned bin = bin_of(distance);
	if (bin < REUSE_BINS)
		reuse->classes[class].bins[bin]++;
	else
		reuse->classes[class].cold++;
	stack->height--;
	stack->count--;
	if (stack->count && *peak_at(stack, stack->height) < peak)
		*peak_at(stack, stack->height) = peak;
	return true;
}

const struct reuse_class *reuse_class(const struct reuse *reuse, unsigned class)
{
	return &reuse->classes[class];
}

uint32_t reuse_quantile(const struct reuse_class *class, double share)
{
	uint64_t all = 0, below = 0;
	for (unsigned i = 0; i < REUSE_BINS; i++)
		all += class->bins[i];
	for (unsigned i = 0; i < REUSE_BINS; i++) {
		below += class->bins[i];
		if (all && (double)below >= share * (double)all)
			return UINT32_C(1) << i;
	}
	return 0;
}
