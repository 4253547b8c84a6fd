/* The folder that scripts/campaign.sh leaves behind (docs/campaign.md). */
#ifndef MTRACE_COMPARE_CAMPAIGN_H
#define MTRACE_COMPARE_CAMPAIGN_H

#include "analyzer/compare.h"

/* Whether `path` is the folder of a campaign, or FOLDER:ARM with such a folder. */
bool campaign_is(const char *path);

/* The runs of all arms, under their own labels. A run that cannot be read is said and left out. */
bool campaign_read(struct compare *compare, const char *folder, const struct ycsb_options *options,
		   struct error *error);

/* The runs of one arm, FOLDER:ARM, into `arm`; of FOLDER where it has one arm only. */
bool campaign_read_arm(struct compare *compare, const char *path, size_t arm,
		       const struct ycsb_options *options, struct error *error);

#endif
