/* Verdicts in words, and the numbers in them. */
#ifndef MTRACE_COMPARE_WORDS_H
#define MTRACE_COMPARE_WORDS_H

#include "analyzer/compare.h"

/* Text that grows within a fixed room; what does not fit is cut. Set text and bytes. */
struct words {
	char *text;
	size_t bytes;
	size_t used;
};

__attribute__((format(printf, 2, 3))) void words_add(struct words *words, const char *format, ...);

#define WORDS_PERCENT_BYTES 32

/* A fraction as a percentage of two or three digits: "3.1", "36", "0.42". Returns `text`. */
const char *words_percent(char text[WORDS_PERCENT_BYTES], double fraction);
/* The same with its sign: "+3.1", "-36". */
const char *words_change(char text[WORDS_PERCENT_BYTES], double fraction);

/* What a verdict is made of; of a row or an overall ratio. */
struct verdict_facts {
	enum verdict verdict;
	enum compare_metric metric;
	size_t arm;
	size_t base_n, arm_n; /* used runs */
	const struct ratio *ratio;
	double p_adjusted;
	const struct compare_reach *reach;
	const char *units;  /* what the ratio's n counts ("blocks"); NULL: runs */
	bool over_levels;   /* an overall ratio; base_n and arm_n are then the fewest at a level */
	bool by_level;	    /* of levels with one run an arm */
	bool without_value; /* there are runs, and none says what is compared */
};

/* "on faster by 3.1% [2.2, 4.0]", "no difference larger than 2%", "undecided: ...": appended to `words`. */
void verdict_words(const struct compare *compare, const struct verdict_facts *facts, struct words *words);

#endif
