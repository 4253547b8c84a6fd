/* The manifest of a campaign's run (docs/campaign.md): where the run stands, and what it ran under. */
#ifndef MTRACE_COMPARE_MANIFEST_H
#define MTRACE_COMPARE_MANIFEST_H

#include "analyzer/compare.h"

/*
 * Fills in block, level, times, state and settings of `run` from `manifest` (NULL: nothing to do). Settings
 * come flat, keys joined by dots. False where memory is short.
 */
bool manifest_apply(const json_t *manifest, size_t campaign, struct compare_run *run);

/* Copies the members of `settings` into `flat` as text, under keys joined by dots; null is left out: unknown.
 * False where memory is short. */
bool manifest_flatten(json_t *flat, const json_t *settings);

/* The manifest in the folder of `path`; NULL where there is none. One that cannot be read sets `error`. */
json_t *manifest_beside(const char *path, struct error *error);

#endif
