#!/usr/bin/env python3
"""TensorBoard's own reader on files of training/tensorboard.c: values, texts, and what a run that
goes on makes it forget. Needs cc and the package tensorboard; without them it says so and ends
well, but without tensorboard only after it has compiled and written.
"""
import glob
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Steps 0 to 9; then again from step 6 on, as after a checkpoint at step 5.
WRITER = r"""
#include "training/tensorboard.h"
#include <math.h>
int main(int argc, char **argv)
{
    for (int part = 0; part < 2; part++) {
        Tensorboard *t = tensorboard_open(argv[argc - 1], (Instant){ part ? 6 : -1, 1e9 + part });
        tensorboard_text(t, (Instant){ 0, 1e9 }, "config/text_summary", "    n_layer: 4");
        for (int step = part ? 6 : 0; step < (part ? 8 : 10); step++) {
            const Scalar all[] = { { "train/loss", step + 100 * part }, { "val/loss", NAN } };
            tensorboard_scalars(t, (Instant){ step, 1e9 + part + step / 100.0 }, all, 2);
        }
        tensorboard_close(t);
    }
    return 0;
}
"""


def write(folder):
    source, program = os.path.join(folder, "writer.c"), os.path.join(folder, "writer")
    with open(source, "w") as f:
        f.write(WRITER)
    used = [os.path.join(ROOT, "training/tensorboard.c"), *glob.glob(os.path.join(ROOT, "ops/base/*.c"))]
    flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-I" + ROOT]
    subprocess.run(["cc", *flags, source, *used, "-lm", "-lpthread", "-o", program], check=True)
    run = os.path.join(folder, "run")
    os.mkdir(run)
    subprocess.run([program, run], check=True)
    return run


def main():
    sys.path.pop(0)  # this folder, where "tensorboard" is this file
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = write(folder)
        except FileNotFoundError:
            print("skipped: there is no cc")
            return
        try:
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        except ImportError:
            print("skipped: there is no tensorboard")
            return
        seen = EventAccumulator(run)
        seen.Reload()
        loss = [(e.step, e.value) for e in seen.Scalars("train/loss")]
        assert loss == [(s, float(s)) for s in range(6)] + [(6, 106.0), (7, 107.0)], loss
        walls = [e.wall_time for e in seen.Scalars("train/loss")]
        assert walls[1] == 1e9 + 0.01 and walls[-1] == 1e9 + 1 + 0.07, walls
        assert all(math.isnan(e.value) for e in seen.Scalars("val/loss"))
        (text,) = [e.tensor_proto.string_val[0] for e in seen.Tensors("config/text_summary")[:1]]
        assert text == b"    n_layer: 4", text
        metadata = seen.SummaryMetadata("config/text_summary")
        assert metadata.plugin_data.plugin_name == "text", metadata
    print("TensorBoard reads the files as they were meant")


if __name__ == "__main__":
    sys.exit(main())
