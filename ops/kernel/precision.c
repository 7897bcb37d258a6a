#include "ops/kernel/precision.h"

#include "ops/kernel/bf16.h"
#include "ops/kernel/tiles.h"

const char *const precision_names[] = { "float", "bf16", "bf16-tiles", NULL };

const char *precision_how(Precision precision)
{
    if (precision == PRECISION_TILES)
        return tiles_are_fast() ? "on AMX tiles" : "in plain C";
    if (!kernel_bf16_is_fast())
        return "in plain C";
    return tiles_are_fast() ? "with VDPBF16PS, slower here than bf16-tiles" : "with VDPBF16PS";
}
