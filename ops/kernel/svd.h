/* Singular values, and what they say of a matrix's rank. */
#ifndef OPS_KERNEL_SVD_H
#define OPS_KERNEL_SVD_H

/*
 * The min(rows, cols) singular values of `a` (rows, cols), the largest first, each
 * to about `cols` roundings of the largest; all NaN where a number of `a` is not finite.
 * What `a` holds is lost. It costs rows^2 cols: the shorter side is better the rows.
 */
void svd_values(double *a, int rows, int cols, double *s);

/*
 * How many dimensions a matrix has, by its singular values. All are 0 where these
 * are, and NaN where they are.
 */
typedef struct {
    double rank;      /* the values above `tolerance` times the largest */
    double effective; /* e^H, H the entropy of s / sum s (Roy and Vetterli, 2007) */
    double holding;   /* the values, largest first, whose sum is 90% of all (Wang et al.,
                         2020, arXiv:2006.04768) */
} Rank;
Rank svd_rank(const double *s, int n, double tolerance);

#endif
