#include "training/source.h"

#include "ops/base/arena.h"

#include <math.h>

Batch source_batch(const Source *s, Arena *mem, int tokens)
{
    size_t bytes = (size_t)tokens * sizeof(int);

    return (Batch){ .id = arena_take(mem, bytes),
                    .target = arena_take(mem, bytes),
                    .length = s->padded ? arena_take(mem, bytes) : NULL,
                    .whole = s->whole,
                    .paired = s->paired };
}

Batch source_shape(Batch batch, int B, int T)
{
    batch.B = B;
    batch.T = T;
    return batch;
}

double source_majority(const Source *s, int T, int possible)
{
    Arena *mem = arena_new();
    Batch row = source_shape(source_batch(s, mem, T), 1, T);
    size_t *times = arena_zeros(mem, (size_t)possible * sizeof *times), all = 0, most = 0;

    for (size_t k = 0; k < s->rows(s, T); k++) {
        s->row(s, k, row);
        for (int i = 0; i < batch_targets(row); i++)
            if (row.target[i] >= 0) {
                size_t n = ++times[row.target[i]];

                most = n > most ? n : most;
                all++;
            }
    }
    arena_free(mem);
    return (double)most / (double)all;
}

double source_bits(const Source *s, bool held_back, double loss)
{
    double bytes = s->bytes[held_back];

    return bytes > 0 ? loss / log(2) / bytes : (double)NAN;
}
