#include "tools/train/curves.h"

#include "ops/base/text.h"
#include "tools/draw/plot.h"

static void draw(FILE *out, void *plot)
{
    plot_svg(plot, out);
}

void curves_draw(const Run *run, const char *title, const char *target, double floor)
{
    const LossCurve *train = run_training_curve(run), *validation = run_validation_curve(run);
    const Series series[] = {
        { .name = "training loss",
          .x = train->x,
          .y = train->y,
          .n = train->n,
          .smooth = train->n / 50 + 1 },
        { .name = "validation loss",
          .x = validation->x,
          .y = validation->y,
          .n = validation->n,
          .points = true,
          .best = true },
    };
    const PlotLine line = { floor, "true entropy" };
    Text label = { 0 };

    text_add(&label, "loss (nats per %s)", target);
    Plot plot = { .title = title,
                  .x_label = "step",
                  .y_label = label.at,
                  .series = series,
                  .n_series = 2,
                  .lines = &line,
                  .n_lines = floor > 0 };

    run_file(run, "loss.svg", draw, &plot);
}
