/* What a run's weights tell: samples and attention maps. */
#ifndef TOOLS_REPORT_MODEL_H
#define TOOLS_REPORT_MODEL_H

#include "ops/base/pool.h"
#include "tools/report/report.h"
#include "training/saved.h"

void maps_write(const Report *report, const Saved *s, Pool *pool, FILE *out);

#endif
