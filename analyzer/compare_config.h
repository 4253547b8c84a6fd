/*
 * What the arms ran under, and where they differ.
 *
 * Compared are the settings of the used runs: `settings` of their manifests (docs/campaign.md) and what
 * YCSB's own output says (ycsb.format, ycsb.recordcount, ...). A setting whose values are not the same in an
 * arm as in the base is a difference; one that is not the treatment confounds the comparison: nobody can say
 * which of the two made the throughput. A setting that is not known of one arm is no difference.
 *
 * The treatment is what --treatment names, else what the campaign says: keys, each of which covers everything
 * below it ("thp" covers "thp.enabled").
 */
#ifndef MTRACE_COMPARE_CONFIG_H
#define MTRACE_COMPARE_CONFIG_H

#include "analyzer/compare.h"

/* Fills in compare->differences, by key. False where memory is short. */
bool compare_config(struct compare *compare, struct error *error);

/* Whether `key` is one of the comma-separated `keys` or lies below one. */
bool config_is_treatment(const char *keys, const char *key);

/* The keys that confound `arm`, joined by commas and cut to fit. Returns their number. */
size_t config_confounders(const struct compare *compare, size_t arm, char *text, size_t bytes);

#endif
