/*
 * The number type of every tensor: float in the product, double in the proof
 * build (-DPROOF), where the tests compare each hand-written backward with
 * finite differences. In float those work at one step size per op, if at all.
 */
#ifndef OPS_BASE_REAL_H
#define OPS_BASE_REAL_H

#include <tgmath.h> /* exp, sqrt, cos, ... in the precision of their argument */

#if defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__ || __FINITE_MATH_ONLY__
#error "attn.c promises the same bits for every number of threads: build it without -ffast-math"
#elif __FLT_EVAL_METHOD__ == 2
#error "the x87 unit computes with other precision than float and double: add -msse2 -mfpmath=sse"
#endif

#ifdef PROOF
typedef double real;
#else
typedef float real;
#endif

#define R(x) ((real)(x)) /* a literal, or an int, as a real */

#endif
