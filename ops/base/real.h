/*
 * The number type of every tensor: float in the product, double in the proof
 * build (-DPROOF), where the tests compare each hand-written backward with
 * finite differences. In float those work at one step size per op, if at all.
 */
#ifndef OPS_BASE_REAL_H
#define OPS_BASE_REAL_H

#include <tgmath.h> /* exp, sqrt, cos, ... in the precision of their argument */

#ifdef __FAST_MATH__
#error "attn.c promises the same bits for every number of threads: build it without -ffast-math"
#endif

#ifdef PROOF
typedef double real;
#else
typedef float real;
#endif

#define R(x) ((real)(x)) /* a literal, or an int, as a real */

#endif
