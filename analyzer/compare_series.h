/*
 * Time series of the user's beside the runs: power, energy, counters, levels.
 *
 *     --series NAME=FILE.csv
 *
 * Two columns, time and value; further columns are passed over, and a first line without numbers is a header
 * (of which `time` and `value`, or NAME, name the columns where they are there). Time is in seconds since
 * 1970, or ISO 8601 as --ycsb-start takes it. The name says what the values are:
 *
 *     ends in _w, _mw, _uw   power in watts, milliwatts, microwatts (hwmon's power1_input); also `power`
 *     ends in _j, _mj, _uj   energy counted up (hwmon's energy1_input, RAPL's energy_uj); also `energy`
 *     ends in _total         events counted up
 *     anything else          a level
 *
 * Power and energy give operations per joule, of the runs' operations and the energy between their start and
 * end: power by trapezoids between its readings, energy by its readings interpolated at both ends. A counter
 * that falls has wrapped or was reset: the run in which it does has no figure. Nor has one in which readings
 * are missing: between the run's ends no gap may be longer than a tenth of it, five usual intervals, or
 * SERIES_GAP_S, whichever is most.
 */
#ifndef MTRACE_COMPARE_SERIES_H
#define MTRACE_COMPARE_SERIES_H

#include "analyzer/compare.h"

#define SERIES_GAP_S 2.0

/* Reads NAME=FILE into compare->series. False with `error` set. */
bool compare_add_series(struct compare *compare, const char *argument, struct error *error);

/*
 * Aligns the series with the used runs: adds operations per joule to the runs' values. A series that covers
 * no run is said in compare->remarks. False where memory is short.
 */
bool compare_apply_series(struct compare *compare, struct error *error);

/* ---- parts ------------------------------------------------------------------------------------------- */

/*
 * Over start..end: of power the energy in joules; of energy and counters the growth; of a level the mean.
 * NaN where the readings do not cover it.
 */
double series_over(const struct compare_series *series, int64_t start_ns, int64_t end_ns);

/* When the run was measured, behind what was trimmed; false where its times are not known. */
bool run_window(const struct compare_run *run, int64_t *start_ns, int64_t *end_ns);

#endif
