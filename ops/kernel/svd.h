/* Singular values, and the rank of a matrix. */
#ifndef OPS_KERNEL_SVD_H
#define OPS_KERNEL_SVD_H

/*
 * The min(rows, cols) singular values of `a` (rows, cols), the largest first, each to about `cols`
 * roundings of the largest; all NaN where a number of `a` is not finite. `a` is overwritten. The
 * cost is rows^2 cols, so the rows should be the shorter side.
 */
void svd_values(double *a, int rows, int cols, double *s);

/*
 * Measures of the rank of a matrix from its singular values: all 0 or all NaN if these are.
 */
typedef struct {
    double rank;      /* the values above `tolerance` times the largest */
    double effective; /* e^H, H the entropy of s / sum s (Roy and Vetterli, 2007) */
    double holding;   /* the values, largest first, whose sum is 90% of all (Wang et al.,
                         2020, arXiv:2006.04768) */
} Rank;
Rank svd_rank(const double *s, int n, double tolerance);

#endif
