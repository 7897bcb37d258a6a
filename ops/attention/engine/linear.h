/*
 * Linear attention: the weight of a pair is a product of features,
 *
 *     z_i  = sum of psi(k_j)                                   over j in V(i)
 *     A_ij = phi(q_i) . psi(k_j) / guard(phi(q_i) . z_i)       o_i = sum of A_ij v_j
 *
 * so that the sums over j can be made before i is known. What is left of a
 * mechanism is its feature map; scan.c (all positions) and band.c (a window) have
 * the sums. RoPE turns phi and psi in the numerator; the denominator stays as it is.
 *
 * The gradient is the same for all. With g = do, c_i = phi_i . z_i and C_i = guard(c_i):
 *
 *     dphi_i = sum over j of (g_i . v_j / C_i) psi_j + dc_i z_i       dc_i = -g_i . o_i / C_i,
 *     dpsi_j = sum over i of (g_i . v_j / C_i) phi_i + dz_i           or 0 where the guard acts
 *     dv_j   = sum over i of (phi_i . psi_j) g_i / C_i                dz_i = dc_i phi_i
 *
 * over the rows i that see j: with g / C for g, the numerator's part is that of
 * A_ij = phi_i . psi_j, and z's is one vector a row.
 */
#ifndef OPS_ATTENTION_ENGINE_LINEAR_H
#define OPS_ATTENTION_ENGINE_LINEAR_H

#include "ops/attention/engine/tiles.h"

/* Rows of q, or of k, of one head, and of their features: positions t0 .. t0+n-1. */
typedef struct {
    bool key;
    int t0, n, D, F, ldx, ldf;
    int M;             /* of cosformer */
    const real *omega; /* performer, of this head: (F, D); */
    const real *to_f;  /* omega^T / D^(1/4), (D, ldf), and omega / D^(1/4), (F, ldx), */
    const real *to_x;  /* for the kernel; NULL for less than whole tiles */
    const real *stat;  /* of q's rows, one after the other */
} MapRows;

typedef struct FeatureMap {
    int (*features)(int D, int m);
    /* f = phi(x), or psi(x); and dx, from df = dL/df, which may be written over. */
    void (*apply)(const MapRows *m, const real *x, real *f);
    void (*chain)(const MapRows *m, const real *x, const real *f, real *df, real *dx);
    /*
     * What phi of a row takes from z_i beside q_i, so many numbers a row; NULL: nothing.
     * `shifted` (exp): a number p, and phi is e^q 2^-p, where 2^-p cancels in A. Else
     * (efficient) z_i itself: phi is divided by it, and A has no other denominator.
     */
    int (*stats)(int F);
    void (*measure)(const real *q, const real *z, int F, real *stat);
    bool shifted;
} FeatureMap;

typedef struct {
    Node node;
    Mix in;
    const FeatureMap *map;
    int B, T, H, D, E, F, stats, M;
    const real *turns; /* (T, F), or NULL */
    real *to_f, *to_x; /* (H, D, F') and (H, F, D'), or NULL */
    real *c;           /* (B, H, T) */
    real *stat;        /* (B, H, T, stats) */
    real *dz;          /* (B, H, T, F), on the way back, where phi is divided by z */
    Grad dq, dk, dv;
} Linear;

/* One head of one sequence; D', E', F' are the widths of copies (head.h). */
typedef struct {
    const Linear *op;
    Head head;
    View view;
    int number, D, E, F; /* the how manieth; D', E', F' */
} LinearHead;

LinearHead linear_head(const Linear *op, int number);

/* Rows of q or k, their features, and these turned (where they are, without RoPE). */
typedef struct {
    Rows x, f, turned, dx; /* dx: room for the gradient of x, as wide */
} Features;
void linear_keys(const LinearHead *h, Features to);
void linear_queries(const LinearHead *h, Features to);

/* For what follows, of z row r is z + r * ldz. Forward, before linear_queries(): their stats. */
void linear_measure(const LinearHead *h, Rows q, const real *z, int ldz);
/* Forward, after it: their c. */
void linear_divisors(const LinearHead *h, Rows phi, const real *z, int ldz);
/* y of the rows, from the sums of the numerator. */
void linear_finish(const LinearHead *h, Rows o);

/* Backward: g / C of the rows, and their dc. */
void linear_gather_g(const LinearHead *h, Rows g, real *dc);
/* dphi of the rows has the numerator's part: dq, and where phi is divided by z, op->dz. */
void linear_chain_queries(const LinearHead *h, Features q, Rows dphi, const real *dc, const real *z,
                          int ldz);
/* dz of row t. */
void linear_dz(const LinearHead *h, int t, const real *phi, real dc, real *dz);
/* dpsi and dv of the rows: dk, and dv. */
void linear_chain_keys(const LinearHead *h, Features k, Rows dpsi, Rows dv);

/* The two ways of summing: forward and backward of heads begin .. end-1 (ctx is a Linear). */
void scan_forward(void *ctx, int begin, int end);
void scan_backward(void *ctx, int begin, int end);
void band_forward(void *ctx, int begin, int end);
void band_backward(void *ctx, int begin, int end);
size_t scan_scratch(const Linear *op); /* numbers that they need of a thread's scratch */
size_t band_scratch(const Linear *op);

/* What a mechanism's row is made of. */
Tensor *linear_mix(Tape *tape, Mix in, const FeatureMap *map);
void linear_step(Step s, const FeatureMap *map);
size_t linear_state(MixSize size, const FeatureMap *map);
double linear_cost(MixSize size, const FeatureMap *map);
MixMemory linear_memory(MixSize size, const FeatureMap *map);

/* Element by element: D features, and f' from x and f. */
int features_same(int D, int m);

#endif
