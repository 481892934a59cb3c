/* linalg.h - small linear algebra: determinants, inverses, systems of equations, and the factors of matrices.
 *
 * Of every matrix along leading axes, [.., m, n]; f32 and f64 (EG_EDTYPE otherwise; autocast brings halves to f32).
 * All is computed in f64 and rounded to what is given out. Names and meaning are those of torch.linalg. Made for
 * small matrices, many at a time, up to some hundreds of rows: a thread of the CPU, or of a GPU a thread (up to 8
 * rows) or a block, has a matrix of its own.
 *
 * A matrix that is not square where it must be is refused (EG_ESHAPE), one without an answer too (EG_EINVAL, with
 * its number in the batch and the pivot that says so; on a GPU by the next call that waits for it). NaN and infinity
 * are never looped over: each function says what becomes of them. Empty matrices and batches are fine: the
 * determinant of [0, 0] is 1.
 *
 * Gradients: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
 * differentiation", 2008; of QR: S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions",
 * 2010; of SVD: J. Townsend, "Differentiating the singular value decomposition", 2016. All may be differentiated
 * again. */
#ifndef EGRET_OPS_LINALG_H
#define EGRET_OPS_LINALG_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- by LU with partial pivoting -------------------------------------------------------------- */

/* [.., n, n] -> [..]; 0 if a is singular, NaN if it has NaN.
 * grad: dy adj(a)^T, adj(a) = det(a) a^-1 the adjugate, which singular matrices have too    saves a and LU */
EG_API eg_tensor *eg_det(eg_tensor *a);
/* Its sign and the logarithm of its size, which does not overflow: det(a) = sign e^log. 0 and -infinity if a is
 * singular. A result that is not wanted is asked for with NULL; after a failure both are NULL.
 * grad (log): dy a^-T, infinite or NaN if a is singular    saves a and LU */
EG_API eg_status eg_slogdet(eg_tensor *a, eg_tensor **sign, eg_tensor **log);
/* a^-1 [.., n, n]. EG_EINVAL: a singular or with NaN or infinity: "inverse: matrix 3 of 5 is singular: pivot 2 ..".
 * grad: -y^T dy y^T    saves a, LU and y */
EG_API eg_tensor *eg_inverse(eg_tensor *a);
/* x of a x = b: b [.., n, k], or a vector [n] or as many vectors as there are matrices, a's shape without its last
 * axis. Batch axes broadcast (EG_ESHAPE if they do not). EG_EDTYPE: different dtypes. EG_EINVAL as eg_inverse.
 * grad: db = a^-T dx, da = -db x^T    saves a, LU and x */
EG_API eg_tensor *eg_solve(eg_tensor *a, eg_tensor *b);

/* Zero-initialised: lower, as it is, with its own diagonal. */
typedef struct eg_solve_triangular_options {
    size_t size;
    bool upper;     /* a's upper triangle is meant */
    bool transpose; /* a^T x = b */
    bool unit;      /* ones are meant instead of its diagonal */
} eg_solve_triangular_options;

/* x of a x = b where the other triangle of a is not looked at: eg_solve_triangular(l, b, .transpose = true). b [..,
 * n, k]; batch axes broadcast. Never refused: a zero on the diagonal gives infinity or NaN.
 * grad: db = a^-T dx, da = the triangle of -db x^T    saves a and x */
EG_API eg_tensor *eg_solve_triangular_with(eg_tensor *a, eg_tensor *b, const eg_solve_triangular_options *options);
#define EG_SOLVE_TRIANGULAR_(a, b, ...) \
    eg_solve_triangular_with(a, b, EG_OPTIONS_(eg_solve_triangular_options, __VA_ARGS__))
#define eg_solve_triangular(...) EG_SOLVE_TRIANGULAR_(__VA_ARGS__, )

/* ---- factors ---------------------------------------------------------------------------------- */

/* Results that are not wanted are asked for with NULL; after a failure all are NULL. */

/* Zero-initialised: lower. */
typedef struct eg_cholesky_options {
    size_t size;
    bool upper; /* u with u^T u = a, of a's upper triangle */
} eg_cholesky_options;

/* The lower l with l l^T = a of symmetric positive definite matrices, whose lower triangle alone is looked at.
 * EG_EINVAL: not positive definite, or with NaN there.
 * grad: half of l^-T (p + p^T) l^-1, p the lower triangle of l^T dl with half its diagonal: symmetric    saves l */
EG_API eg_tensor *eg_cholesky_with(eg_tensor *a, const eg_cholesky_options *options);
#define EG_CHOLESKY_(a, ...) eg_cholesky_with(a, EG_OPTIONS_(eg_cholesky_options, __VA_ARGS__))
#define eg_cholesky(...)     EG_CHOLESKY_(__VA_ARGS__, )

/* a = q r: columns of q [.., m, s] are orthonormal, r [.., s, n] is upper triangular and its diagonal not negative,
 * by which both are unique where the first s = min(m, n) columns of a are independent (PyTorch leaves signs to
 * LAPACK). NaN or infinity in a matrix: NaN in its factors. Householder's reflections.
 * grad: (dq + q c) r^-T, c the symmetric matrix with the lower triangle of r dr^T - dq^T q; infinite or NaN where
 * those columns depend on each other    saves q and r */
EG_API eg_status eg_qr(eg_tensor *a, eg_tensor **q, eg_tensor **r);

/* a = u diag(s) vh: columns of u [.., m, k] and rows of vh [.., k, n] are orthonormal, k = min(m, n), s [.., k] falls
 * and is not negative. Signs are so that of each row of vh (column of u, if m < n) the first element over half the
 * largest is positive. Jacobi's rotations on the triangle of QR: small values are as exact as a's columns say them.
 * NaN or infinity in a matrix: all of its factors are NaN.
 * grad: u (e + diag(ds)) vh, with x = u^T du, y = vh dvh^T, of each made z - z^T, e_ij = (x + y)_ij / 2 / (s_j - s_i) +
 *   (x - y)_ij / 2 / (s_j + s_i), and for m > n (du - u u^T du) s^-1 vh, for m < n the like. What divides by 0 is
 *   left out: equal singular values, and those that are 0, have the gradient of what does not tell their vectors
 *   apart, such as u vh (PyTorch gives infinity or NaN there).    saves u, s and vh */
EG_API eg_status eg_svd(eg_tensor *a, eg_tensor **u, eg_tensor **s, eg_tensor **vh);

/* a = v diag(w) v^T of symmetric matrices, whose lower triangle alone is looked at: eigenvalues w [.., n] rise, columns
 * of v [.., n, n] are orthonormal eigenvectors, of each of which the first element over half the largest is positive.
 * NaN or infinity there: all of the matrix's results are NaN. Tridiagonal form and implicit QL.
 * grad: the symmetric part of v (e + diag(dw)) v^T, e_ij = (v^T dv)_ij / (w_j - w_i), 0 for equal eigenvalues:
 *   right for what does not tell their vectors apart    saves w and v */
EG_API eg_status eg_eigh(eg_tensor *a, eg_tensor **w, eg_tensor **v);

EG_END_DECLS

#endif
