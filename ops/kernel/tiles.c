#define _DEFAULT_SOURCE /* syscall */
#include "ops/kernel/tiles.h"

#include "ops/kernel/bf16.h"

#if defined __AVX512F__ && defined __linux__ && !defined PROOF &&                                  \
    (__GNUC__ >= 11 || __clang_major__ >= 12)
#define HAS_TILES
#endif

#ifdef HAS_TILES
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILES __attribute__((target("amx-tile,amx-bf16")))

/* What LDTILECFG reads: eight tiles of 16 rows of 64 bytes. */
static const struct {
    uint8_t palette, start, zero[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} shape = { .palette = 1,
            .bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
            .rows = { 16, 16, 16, 16, 16, 16, 16, 16 } };

static bool allowed;

/* Tiles make a thread's saved state 8 KiB larger: Linux asks programs to ask for them. */
static void ask_for_tiles(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;

    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d & AMX_BF16 && d & AMX_TILE)
        allowed = syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

bool tiles_are_fast(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, ask_for_tiles);
    return allowed;
}

TILES static void begin(void)
{
    _tile_loadconfig(&shape);
}

TILES static void end(void)
{
    _tile_release();
}

/*
 * Tiles 0 to 3 are c, 2 x 2 of them; 4 and 5 are of a, 6 and 7 of b. Loads and products take turns,
 * since neither waits for the other. The compiler does not know that loads read memory.
 */
TILES static void multiply(real *c, ptrdiff_t ldc, const Factors *f, bool add)
{
    const Bf16Pair *a = (const Bf16Pair *)f->a, *below = a + 16 * f->rs;
    const Bf16Pair *b = (const Bf16Pair *)f->b;
    const ptrdiff_t across = f->rs * 4, down = f->ldb * 4, row = ldc * 4;

    __asm__ volatile("" ::: "memory");
    if (add) {
        _tile_loadd(0, c, row);
        _tile_loadd(1, c + 16, row);
        _tile_loadd(2, c + 16 * ldc, row);
        _tile_loadd(3, c + 16 * ldc + 16, row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int p = 0; p < f->k; p += STEP, b += STEP * f->ldb) {
        _tile_loadd(4, a + p, across);
        _tile_loadd(6, b, down);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + 16, down);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, below + p, across);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, row);
    _tile_stored(1, c + 16, row);
    _tile_stored(2, c + 16 * ldc, row);
    _tile_stored(3, c + 16 * ldc + 16, row);
}
#else
bool tiles_are_fast(void)
{
    return false;
}

#define begin() ((void)0)
#define end() ((void)0)
#define multiply kernel_tiles_plain
#endif

void tiles_begin(void)
{
    if (tiles_are_fast())
        begin();
}

void tiles_end(void)
{
    if (tiles_are_fast())
        end();
}

void kernel_tiles(real *c, ptrdiff_t ldc, const Factors *f, bool add)
{
    if (tiles_are_fast())
        multiply(c, ldc, f, add);
    else
        kernel_tiles_plain(c, ldc, f, add);
}
