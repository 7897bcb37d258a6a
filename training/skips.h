/*
 * Which updates are taken, and when a run has failed.
 *
 * Steps whose loss or gradient is not finite are skipped. SKIPS_ROW of them in a row, or more than
 * SKIPS_MOST among the last SKIPS_OF steps, end the run: its weights, or its data, are at fault.
 *
 * With a limit z > 0, spikes are skipped, too: steps whose loss or gradient norm is more than z
 * standard deviations above its mean over the last SKIPS_WINDOW finite ones, once there are half as
 * many. Spikes join the window as well, so that a lasting change of level is soon accepted.
 */
#ifndef TRAINING_SKIPS_H
#define TRAINING_SKIPS_H

#include "ops/base/text.h"
#include "ops/params.h"

enum { SKIPS_ROW = 5, SKIPS_MOST = 10, SKIPS_OF = 1000, SKIPS_WINDOW = 128 };

typedef struct {
    int n;
    double at[SKIPS_WINDOW]; /* the oldest first */
} Recent;

/* All zeros at the start of a run, and saved with it. */
typedef struct {
    int bad;              /* steps since the last finite gradient */
    Recent steps;         /* the numbers of steps that were not finite, among the last SKIPS_OF */
    Recent losses, norms; /* the window; without a limit, empty */
} Skips;

/* Why the update of this step is to be skipped; empty: it is to be taken. */
Text skips_add(Skips *s, double limit, int step, double loss, double norm, const Params *params);

/* Why the run has failed; empty: it has not. */
Text skips_failure(const Skips *s);

/* Its lists, with the names they are saved under. */
typedef struct {
    const char *key;
    Recent *at;
} NamedRecent;
enum { SKIPS_LISTS = 3 };
void skips_recent(Skips *s, NamedRecent list[SKIPS_LISTS]);

/* Numbers with spaces between them. Reading fails on too many and on what is not finite. */
char *recent_text(const Recent *s, Arena *mem);
bool recent_read(Recent *s, const char *text);

/* Whether a run that has gone on after this step may have it. */
bool skips_are_possible(const Skips *s, int step);

#endif
