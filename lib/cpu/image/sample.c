/* sample.c - images read at points, the adjoint, and what the points get. Where channels are
 * innermost a pixel is a vector and every point is done by itself; in planes a stretch of points is
 * looked up once and then done in one plane after the other. Threads share results out, never what
 * is summed: every sum has one order. */
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include <tgmath.h>

#include <egret/ops/sample.h>

#include "lib/cpu/common/isa.h"
#include "lib/math/hd.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_grid_sample), ISA(eg__cpu_grid_sample_grad), ISA(eg__cpu_grid_sample_points);

enum { STRETCH = 128, MOST_TAPS = 16 };

/* One call. Images are x or its gradient, pictures y or its gradient. */
typedef struct job {
    const eg__sample_opts *o;
    const eg_tensor *image; /* NULL: picture b is of image b */
    const eg_tensor *px, *py;
    void *images, *dpx, *dpy;
    void *pictures;
    int64_t nimages, channels, h, w;
    int64_t npictures, rows, cols, stretches;
    int64_t piece, pieces; /* of channels, for a thread's share of an image */
    bool last;
} job;

static inline int64_t image_of(const job *j, int64_t b)
{
    return j->image ? ((const int64_t *)eg__ptr(j->image))[b * j->image->strides[0]] : b;
}

/* Where the coordinate of a point lies. */
static inline int64_t point_at(const eg_tensor *p, int64_t b, int64_t row, int64_t col)
{
    return b * p->strides[0] + row * p->strides[1] + col * p->strides[2];
}

/* What a stretch reads of a plane, whole vectors of it; how many points that were. Compilers do not
 * load from places in a table by themselves, which takes half the time. No weight: nothing is read.
 */
#define READ_VECTORS(name, T)                                                                                     \
    static int64_t name(int taps, const T(*w)[STRETCH], const int32_t(*at)[STRETCH], int64_t n, const T *x, T *y, \
                        bool begun)
#define NO_VECTORS(name, T)                                                    \
    READ_VECTORS(name, T)                                                      \
    {                                                                          \
        (void)taps, (void)w, (void)at, (void)n, (void)x, (void)y, (void)begun; \
        return 0;                                                              \
    }

#if defined(__AVX512F__)
READ_VECTORS(read_vectors_f32, float)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 sum = begun ? _mm512_loadu_ps(y + i) : _mm512_setzero_ps();
        for (int t = 0; t < taps; t++) {
            __m512 weight = _mm512_loadu_ps(w[t] + i);
            __mmask16 reads = _mm512_cmp_ps_mask(weight, _mm512_setzero_ps(), _CMP_NEQ_UQ);
            __m512i places = _mm512_loadu_si512(at[t] + i);
            __m512 v = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), reads, places, x, 4);
            sum = _mm512_fmadd_ps(weight, v, sum);
        }
        _mm512_storeu_ps(y + i, sum);
    }
    return i;
}
#elif defined(__AVX2__)
READ_VECTORS(read_vectors_f32, float)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 sum = begun ? _mm256_loadu_ps(y + i) : _mm256_setzero_ps();
        for (int t = 0; t < taps; t++) {
            __m256 weight = _mm256_loadu_ps(w[t] + i);
            __m256 reads = _mm256_cmp_ps(weight, _mm256_setzero_ps(), _CMP_NEQ_UQ);
            __m256i places = _mm256_loadu_si256((const __m256i *)(at[t] + i));
            __m256 v = _mm256_mask_i32gather_ps(_mm256_setzero_ps(), x, places, reads, 4);
            sum = _mm256_fmadd_ps(weight, v, sum);
        }
        _mm256_storeu_ps(y + i, sum);
    }
    return i;
}
#else
NO_VECTORS(read_vectors_f32, float)
#endif
NO_VECTORS(read_vectors_f64, double)

#define T       float
#define LANE(x) x##_f32
#include "lib/cpu/image/sample_loops.h"
#undef T
#undef LANE

#define T       double
#define LANE(x) x##_f64
#include "lib/cpu/image/sample_loops.h"
#undef T
#undef LANE

/* ---- calls ----------------------------------------------------------------------------------- */

/* t with its channels innermost, or dense: itself or a copy. */
static eg_status lay(const eg__call *c, bool last, eg_tensor **t)
{
    extern const eg__op eg__op_copy;
    if (last ? eg_is_channels_last(*t) : (*t)->flags & EG__DENSE) {
        return EG_OK;
    }
    eg__desc d = {.dtype = (*t)->dtype, .ndim = 4};
    memcpy(d.shape, (*t)->shape, sizeof d.shape);
    eg__desc_dense(&d);
    d.dense = !last;
    if (last) {
        eg__channels_last(4, d.shape, d.strides);
    }
    eg_tensor *from = *t, *copy = eg__new(&d, c->op->name, c->op->id);
    *t = copy;
    return copy ? eg__run(&eg__op_copy, &from, 1, &(eg__copy_opts){last ? EG__TO_CHANNELS_LAST : EG__TO_DENSE}, copy)
                : EG_ENOMEM;
}

static bool channels_innermost(const eg_tensor *t)
{
    return !(t->flags & EG__DENSE) && eg_is_channels_last(t);
}

static job job_of(const eg__call *c, const eg_tensor *images, const eg_tensor *pictures, int points)
{
    job j = {.o = c->opts,
             .px = c->in[points],
             .py = c->in[points + 1],
             .image = c->nin > points + 2 ? c->in[points + 2] : NULL,
             .images = eg__ptr(images),
             .pictures = eg__ptr(pictures),
             .nimages = images->shape[0],
             .channels = images->shape[1],
             .h = images->shape[2],
             .w = images->shape[3],
             .npictures = pictures->shape[0],
             .rows = pictures->shape[2],
             .cols = pictures->shape[3],
             .last = channels_innermost(images)};
    j.stretches = (j.rows * j.cols + STRETCH - 1) / STRETCH;
    return j;
}

/* Runs the loop of the layout and type over `n` items of `work` operations in all. */
static void run(job *j, int dtype, int64_t n, int64_t work, eg__range_fn *const *loops)
{
    int64_t grain = eg__max(1, EG__GRAIN * n / eg__max(1, work));
    eg__parallel(n, grain, loops[(j->last ? 2 : 0) + (dtype == EG_F64)], j);
}

/* Multiplications per channel. */
static int64_t work_of(const job *j)
{
    int64_t taps = j->o->mode == EG_SAMPLE_NEAREST ? 1 : j->o->mode == EG_SAMPLE_BILINEAR ? 4 : 16;
    return j->npictures * j->rows * j->cols * taps * j->o->block[0] * j->o->block[1];
}

eg_status ISA(eg__cpu_grid_sample)(const eg__call *c)
{
    static eg__range_fn *const loops[] = {read_planes_f32, read_planes_f64, read_pixels_f32, read_pixels_f64};
    eg_tensor *x = c->in[0], *y = c->out[0];
    if (!y->n || lay(c, channels_innermost(x), &x)) {
        return y->n ? eg__why() : EG_OK;
    }
    job j = job_of(c, x, y, 1);
    run(&j, x->dtype, j.npictures * (j.last ? j.rows * j.cols : j.stretches), work_of(&j) * j.channels, loops);
    return EG_OK;
}

eg_status ISA(eg__cpu_grid_sample_grad)(const eg__call *c)
{
    static eg__range_fn *const loops[] = {add_planes_f32, add_planes_f64, add_pixels_f32, add_pixels_f64};
    eg_tensor *dy = c->in[0], *dx = c->out[0];
    if (!dx->n || lay(c, channels_innermost(dx), &dy)) {
        return dx->n ? eg__why() : EG_OK;
    }
    job j = job_of(c, dx, dy, 1);
    /* As many shares as threads can use, of at least a vector of channels. */
    j.pieces = eg__min((2 * eg_threads() + j.nimages - 1) / j.nimages, (j.channels + 15) / 16);
    j.pieces = j.nimages >= eg_threads() || eg_threads() == 1 ? 1 : j.pieces;
    j.piece = (j.channels + j.pieces - 1) / j.pieces;
    run(&j, dx->dtype, j.nimages * j.pieces, work_of(&j) * j.channels + dx->n, loops);
    return EG_OK;
}

eg_status ISA(eg__cpu_grid_sample_points)(const eg__call *c)
{
    static eg__range_fn *const loops[] = {move_planes_f32, move_planes_f64, move_pixels_f32, move_pixels_f64};
    eg_tensor *dy = c->in[0], *x = c->in[1];
    if (!c->out[0]->n || lay(c, channels_innermost(x), &x) || lay(c, channels_innermost(x), &dy)) {
        return c->out[0]->n ? eg__why() : EG_OK;
    }
    job j = job_of(c, x, dy, 2);
    j.dpx = eg__ptr(c->out[0]);
    j.dpy = eg__ptr(c->out[1]);
    run(&j, x->dtype, j.npictures * (j.last ? j.rows * j.cols : j.stretches), work_of(&j) * j.channels, loops);
    return EG_OK;
}
