/* loss.svg, the chart of a run. */
#ifndef TOOLS_TRAIN_CURVES_H
#define TOOLS_TRAIN_CURVES_H

#include "training/run.h"

/*
 * Draws loss.svg into the run's folder from all losses logged so far. `target` is what is predicted
 * ("masked byte"); `floor` is the true entropy in nats per target, 0: unknown.
 */
void curves_draw(const Run *run, const char *title, const char *target, double floor);

#endif
