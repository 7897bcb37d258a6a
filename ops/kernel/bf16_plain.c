/* What VDPBF16PS and TDPBF16PS compute, in plain C: the same order of sums, the same rounding. */
#include "ops/kernel/bf16.h"
#include "ops/kernel/tiles.h"

/* x; subnormal: 0. */
static inline float flushed(float x)
{
    return float_of(bits_of(x) & (bits_of(x) & 0x7f800000 ? ~0U : 0x80000000));
}

/* A number in the upper half of 32 bits; subnormal: 0. */
static inline float upper(uint32_t bits)
{
    return float_of(bits & (bits & 0x7f800000 ? 0xffff0000 : 0x80000000));
}

/*
 * t + a b. The product is exact in double. Their sum is not, but where it loses bits one of the two
 * is so small that the other, as a float, is the nearest one: so rounding twice is rounding once.
 * What rounds to less than 2^-126 with 24 bits, however small their unit, is flushed.
 */
static inline float multiply_add(float t, float a, float b)
{
    double sum = (double)t + (double)a * (double)b;
    double size = sum < 0 ? -sum : sum;

    return size < 0x1.ffffffp-127 ? float_of(bits_of((float)sum) & 0x80000000) : (float)sum;
}

void kernel_bf16_plain(real *c, ptrdiff_t ldc, const Factors *f, bool add)
{
    for (int i = 0; i < MR; i++, c += ldc) {
        float t[NR] = { 0 };

        for (int p = 0; p < f->k; p++) {
            const Bf16Pair *b = (const Bf16Pair *)f->b + p * f->ldb;
            uint32_t a = (uint32_t)((const Bf16Pair *)f->a)[i * f->rs + p * f->cs];

            for (int half = 0; half <= 16; half += 16)
                for (int j = 0; j < NR; j++)
                    t[j] = multiply_add(t[j], upper(a << half), upper((uint32_t)b[j] << half));
        }
        for (int j = 0; j < NR; j++)
            c[j] = add ? c[j] + (real)t[j] : (real)t[j];
    }
}

void kernel_tiles_plain(real *c, ptrdiff_t ldc, const Factors *f, bool add)
{
    for (int i = 0; i < TILES_HIGH; i++, c += ldc) {
        const Bf16Pair *a = (const Bf16Pair *)f->a + i * f->rs;
        float sum[NR];

        for (int j = 0; j < NR; j++)
            sum[j] = add ? flushed((float)c[j]) : 0;
        for (int k = 0; k < f->k; k += STEP) {
            float first[NR] = { 0 }, second[NR] = { 0 };

            for (int p = k; p < k + STEP; p++) {
                const Bf16Pair *b = (const Bf16Pair *)f->b + p * f->ldb;
                const uint32_t pair = (uint32_t)a[p];

                for (int j = 0; j < NR; j++) {
                    const uint32_t by = (uint32_t)b[j];

                    first[j] = multiply_add(first[j], upper(pair << 16), upper(by << 16));
                    second[j] = multiply_add(second[j], upper(pair), upper(by));
                }
            }
            for (int j = 0; j < NR; j++)
                sum[j] = multiply_add(sum[j], multiply_add(first[j], second[j], 1), 1);
        }
        for (int j = 0; j < NR; j++)
            c[j] = (real)sum[j];
    }
}
