/* norm.cu - normalisation of channels, in batches or groups, and of rows: statistics, from parts that are joined in
 * order, then every element for itself. */
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/common/lines.cuh"
#include "lib/cuda/common/moments.cuh"
#include "lib/cuda/reduce/norm.h"

namespace
{

enum { WARP = 32 };

/* Elements as they lie, of a type S: halves, of either kind, are computed with as floats. */
EG__FN float element(const float *p, int64_t at, int)
{
    return p[at];
}
EG__FN double element(const double *p, int64_t at, int)
{
    return p[at];
}
EG__FN float element(const uint16_t *p, int64_t at, int dtype)
{
    return dtype == EG_F16 ? eg__from_f16(p[at]) : eg__from_bf16(p[at]);
}

template <class S> EG__FN auto x_at(const eg__normed &k, int64_t at)
{
    return element((const S *)k.x, at, k.dtype);
}
template <class S> EG__FN auto dy_at(const eg__normed &k, int64_t at)
{
    return element((const S *)k.dy, at, k.dtype);
}

/* What is the same for all elements of a channel of an image: y = (x - mean) scale + shift, and
 * dx = dy scale - (x - mean) tilt - flat. */
template <class T> struct cell {
    T mean, scale, shift, tilt, flat;
};

/* Slopes of a channel added up, and the same times x - mean. */
template <class T> struct slopes {
    T sum, product;
};

template <class T> struct adding {
    typedef slopes<T> state;
    EG__FN state none() const
    {
        return state{0, 0};
    }
    EG__FN state both(const state &a, const state &b) const
    {
        return state{a.sum + b.sum, a.product + b.product};
    }
};

template <class T> EG__FN T of_channel(const eg__per_channel &v, int64_t c, T otherwise)
{
    return v.p ? ((const T *)v.p)[c * v.step] : otherwise;
}

template <class T> EG__FN T through(const cell<T> &m, T x, T dy, int relu)
{
    return relu && !((x - m.mean) * m.scale + m.shift > 0) ? 0 : dy;
}

/* ---- sums of a channel -------------------------------------------------------------------------------- */

/* A place, in elements and in rows of all images. */
struct place {
    int64_t at, row;
};

template <class T, class S> struct moments_of : eg__moments<T> {
    typedef T number;
    typedef S stored;
    EG__FN T get(const eg__normed &k, const place &p, int64_t, int64_t) const
    {
        return x_at<S>(k, p.at);
    }
};

/* For normalised channels: the cell is the same for all elements. */
template <class T, class S> struct slopes_of : adding<T> {
    typedef slopes<T> number;
    typedef S stored;
    EG__FN number get(const eg__normed &k, const place &p, int64_t image, int64_t c) const
    {
        const cell<T> &m = ((const cell<T> *)k.cells)[image * k.channels.d + c];
        const T x = x_at<S>(k, p.at), dy = through(m, x, dy_at<S>(k, p.at), k.relu);
        return number{dy, dy * (x - m.mean)};
    }
    EG__FN void take(number &s, const number &v) const
    {
        s = this->both(s, v);
    }
    EG__FN void take4(number &s, const number v[4]) const
    {
        s = this->both(s, this->both(this->both(v[0], v[1]), this->both(v[2], v[3])));
    }
};

/* For normalised rows: every row has its statistics. */
template <class T, class S> struct row_slopes_of : slopes_of<T, S> {
    int root;
    __host__ __device__ explicit row_slopes_of(int is_root) : root(is_root) {}
    EG__FN slopes<T> get(const eg__normed &k, const place &p, int64_t, int64_t) const
    {
        const T mean = root ? 0 : ((const T *)k.mean)[p.row], dy = dy_at<S>(k, p.at);
        const T root_of = eg__fn_sqrt(((const T *)k.var)[p.row] + (T)k.eps);
        return slopes<T>{dy, dy * (x_at<S>(k, p.at) - mean) / root_of};
    }
};

EG__FN place place_of(const eg__normed &k, int64_t image, int64_t c, int64_t j)
{
    const int64_t row = image * k.rows.d + (k.run.d == 1 ? j : eg__divide(j, k.run));
    const int64_t within = k.run.d == 1 ? 0 : j - (row - image * k.rows.d) * k.run.d;
    return place{(row * k.channels.d + c) * k.run.d + within, row};
}

/* Part `part` of every channel. Neighbouring threads are at neighbouring elements: of one channel where it lies
 * side by side, else of neighbouring channels. */
template <class T, class G> __global__ void __launch_bounds__(EG__BLOCK) sum_channels(const eg__normed k, const G g)
{
    typedef typename G::state state;
    typedef typename G::number number;
    enum { AT_ONCE = sizeof(typename G::stored) == 2 ? 8 : 4 };
    __shared__ state room[EG__BLOCK];
    const bool across = k.run.d == 1;
    const unsigned wide = EG__BLOCK / k.lanes;
    const unsigned lane = across ? threadIdx.x / wide : threadIdx.x & (k.lanes - 1);
    const int64_t blocks = (k.channels.d + wide - 1) / wide, part = blockIdx.x / blocks;
    const int64_t c = (blockIdx.x - part * blocks) * wide + (across ? threadIdx.x & (wide - 1) : threadIdx.x / k.lanes);
    const int64_t image = part / k.splits, count = k.rows.d * k.run.d;
    int64_t j = (part - image * k.splits) * k.part, end = j + k.part;
    end = end < count ? end : count;
    state s = g.none();
    if (c < k.channels.d) {
#pragma unroll 1
        for (j += lane; j + (AT_ONCE - 1) * k.lanes < end; j += AT_ONCE * k.lanes) {
            number v[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                v[i] = g.get(k, place_of(k, image, c, j + i * k.lanes), image, c);
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i += 4) {
                g.take4(s, v + i);
            }
        }
#pragma unroll 1
        for (; j < end; j += k.lanes) {
            g.take(s, g.get(k, place_of(k, image, c, j), image, c));
        }
    }
    s = across ? eg__join_columns(g, s, wide, room) : eg__join_lanes(g, s, k.lanes, room);
    if (c < k.channels.d && !lane) {
        ((state *)k.states)[part * k.channels.d + c] = s;
    }
}

/* ---- statistics: a warp for each ---------------------------------------------------------------------- */

/* Which image and channels a statistic is of. */
struct group {
    int64_t image, first, channels;
    unsigned lane;

    EG__FN group(const eg__normed &k, int64_t s) : lane(threadIdx.x % WARP)
    {
        channels = k.channels.d / k.groups;
        image = s / k.groups;
        first = (s - image * k.groups) * channels;
    }
};

/* All states of a statistic's channels joined, in every lane of the warp; weighed: times the weight of theirs. */
template <class O, class F>
EG__FN typename O::state join_group(const eg__normed &k, const group &g, const O &o, const F &of)
{
    typename O::state s = o.none();
    const int64_t count = k.splits * g.channels;
    for (int64_t i = g.lane; i < count; i += WARP) {
        const int64_t split = i / g.channels, c = g.first + i - split * g.channels;
        s = o.both(s, of(((const typename O::state *)k.states)[(g.image * k.splits + split) * k.channels.d + c], c));
    }
    return eg__join_lanes(o, s, WARP, (typename O::state *)NULL);
}

template <class T> EG__FN void follow(const eg__running &r, int64_t c, T v)
{
    if (r.p) {
        const int size = r.dtype == EG_F64 ? 8 : r.dtype == EG_F32 ? 4 : 2;
        char *p = r.p + c * r.step * size;
        const double was = eg__get<double>(p, r.dtype);
        eg__put(p, r.dtype, was + ((double)v * r.factor - was) * r.momentum);
    }
}

template <class T> struct plainly {
    EG__FN T operator()(const T &s, int64_t) const
    {
        return s;
    }
};

template <class T> __global__ void __launch_bounds__(EG__BLOCK) finish_moments(const eg__normed k)
{
    const int64_t s = eg__self() / WARP;
    if (s >= k.images * k.groups) {
        return;
    }
    const group g(k, s);
    const eg__about<T> a = join_group(k, g, eg__moments<T>(), plainly<eg__about<T>>());
    const T var = a.squares / a.n, scale = 1 / eg__fn_sqrt(var + (T)k.eps);
    if (!g.lane) {
        ((T *)k.mean)[s] = a.mean;
        ((T *)k.var)[s] = var;
        follow(k.running[0], s, a.mean);
        follow(k.running[1], s, var);
    }
    for (int64_t c = g.first + g.lane; c < g.first + g.channels; c += WARP) {
        ((cell<T> *)k.cells)[g.image * k.channels.d + c] =
            cell<T>{a.mean, scale * of_channel<T>(k.weight, c, 1), of_channel<T>(k.bias, c, 0), 0, 0};
    }
}

template <class T> struct weighed {
    const eg__normed &k;
    EG__FN slopes<T> operator()(const slopes<T> &s, int64_t c) const
    {
        const T w = of_channel<T>(k.weight, c, 1);
        return slopes<T>{s.sum * w, s.product * w};
    }
};

/* What the gradient subtracts: means of slopes, and of slopes times what is normalised. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) finish_slopes(const eg__normed k)
{
    const int64_t s = eg__self() / WARP;
    if (s >= k.images * k.groups) {
        return;
    }
    const group g(k, s);
    const slopes<T> a = join_group(k, g, adding<T>(), weighed<T>{k});
    const T r = 1 / eg__fn_sqrt(((const T *)k.var)[s] + (T)k.eps), n = (T)(k.rows.d * k.run.d * g.channels);
    for (int64_t c = g.first + g.lane; c < g.first + g.channels; c += WARP) {
        cell<T> &m = ((cell<T> *)k.cells)[g.image * k.channels.d + c];
        m.flat = r * a.sum / n;
        m.tilt = r * r * r * a.product / n;
    }
}

/* dweight and dbias: a warp for each channel. rows: products are of what is normalised already. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) finish_parameters(const eg__normed k, int rows)
{
    const int64_t c = eg__self() / WARP, per = k.channels.d / k.groups;
    if (c >= k.channels.d) {
        return;
    }
    slopes<T> s = {0, 0};
    for (int64_t i = threadIdx.x % WARP; i < k.images * k.splits; i += WARP) {
        const slopes<T> v = ((const slopes<T> *)k.states)[i * k.channels.d + c];
        const int64_t of = i / k.splits * k.groups + c / per;
        const T r = rows ? 1 : 1 / eg__fn_sqrt(((const T *)k.var)[of] + (T)k.eps);
        s = adding<T>().both(s, slopes<T>{v.sum, v.product * r});
    }
    s = eg__join_lanes(adding<T>(), s, WARP, (slopes<T> *)NULL);
    if (threadIdx.x % WARP == 0) {
        ((T *)k.dweight)[c] = s.product;
        ((T *)k.dbias)[c] = s.sum;
    }
}

/* Cells from statistics that are known, or of y = x weight + bias where there are none. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) make_cells(const eg__normed k)
{
    const int64_t i = eg__self();
    if (i >= k.images * k.channels.d) {
        return;
    }
    const int64_t image = i / k.channels.d, c = i - image * k.channels.d;
    const int64_t s = image * k.groups + c / (k.channels.d / k.groups);
    const T mean = k.mean ? ((const T *)k.mean)[s] : 0;
    const T scale = k.var ? 1 / eg__fn_sqrt(((const T *)k.var)[s] + (T)k.eps) : 1;
    ((cell<T> *)k.cells)[i] = cell<T>{mean, scale * of_channel<T>(k.weight, c, 1), of_channel<T>(k.bias, c, 0), 0, 0};
}

/* ---- every element for itself ------------------------------------------------------------------------- */

/* Goes from element to element, and knows the cell. */
template <class T> struct walker {
    const eg__normed &k;
    int64_t image, row, c, within;

    EG__FN walker(const eg__normed &of, int64_t i) : k(of)
    {
        const int64_t line = eg__divide(i, k.run);
        within = i - line * k.run.d;
        row = eg__divide(line, k.channels);
        c = line - row * k.channels.d;
        image = k.images > 1 ? eg__divide(row, k.rows) : 0;
        row -= image * k.rows.d;
    }
    EG__FN const cell<T> &here() const
    {
        return ((const cell<T> *)k.cells)[image * k.channels.d + c];
    }
    EG__FN void next()
    {
        if (++within == k.run.d) {
            within = 0;
            if (++c == k.channels.d) {
                c = 0;
                if (++row == k.rows.d) {
                    row = 0;
                    image += k.images > 1;
                }
            }
        }
    }
};

template <class T, bool GRAD> EG__FN T made(const cell<T> &m, T x, T dy, int relu)
{
    if (GRAD) {
        return through(m, x, dy, relu) * m.scale - (x - m.mean) * m.tilt - m.flat;
    }
    const T y = (x - m.mean) * m.scale + m.shift;
    return relu && y < 0 ? 0 : y;
}

template <class T, class S, bool GRAD> __global__ void __launch_bounds__(EG__BLOCK) make_elements(const eg__normed k)
{
    enum { SIZE = sizeof(S) };
    const int dtype = SIZE == 2 ? k.dtype : EG_F32;
    const int64_t i = eg__self() * EG__QUAD;
    if (i >= k.n) {
        return;
    }
    walker<T> at(k, i);
    T x[EG__QUAD], dy[EG__QUAD] = {0, 0, 0, 0};
    if (k.whole && i + EG__QUAD <= k.n) {
        eg__open_quad(eg__get_quad<T>(k.x + i * SIZE, SIZE), dtype, x);
        if (GRAD) {
            eg__open_quad(eg__get_quad<T>(k.dy + i * SIZE, SIZE), dtype, dy);
        }
#pragma unroll
        for (int j = 0; j < EG__QUAD; j++, at.next()) {
            x[j] = made<T, GRAD>(at.here(), x[j], dy[j], k.relu);
        }
        eg__put_quad(k.y + i * SIZE, dtype, x);
        return;
    }
    for (int64_t j = i; j < i + EG__QUAD && j < k.n; j++, at.next()) {
        eg__put(k.y + j * SIZE, SIZE == 8 ? EG_F64 : dtype,
                made<T, GRAD>(at.here(), x_at<S>(k, j), GRAD ? dy_at<S>(k, j) : 0, k.relu));
    }
}

template <class T, class S, bool GRAD> cudaError_t start_elements(const eg__normed &k, cudaStream_t s)
{
    return EG__LAUNCH((make_elements<T, S, GRAD>), eg__blocks((k.n + EG__QUAD - 1) / EG__QUAD), EG__BLOCK, 0, s, k);
}

template <class T, class G> cudaError_t start_sums(const eg__normed &k, const G &g, cudaStream_t s)
{
    const unsigned wide = EG__BLOCK / k.lanes;
    const int64_t blocks = (k.channels.d + wide - 1) / wide;
    static_assert(sizeof(typename G::state) <= EG__NORM_STATE, "scratch has room for it");
    return EG__LAUNCH((sum_channels<T, G>), (unsigned)(blocks * k.images * k.splits), EG__BLOCK, 0, s, k, g);
}

template <class T, class S> cudaError_t start(const eg__normed &k, cudaStream_t s)
{
    static_assert(sizeof(cell<T>) <= EG__NORM_CELL, "scratch has room for it");
    cudaError_t e = start_sums<T>(k, moments_of<T, S>(), s);
    e = e ? e : EG__LAUNCH(finish_moments<T>, eg__blocks(k.images * k.groups * WARP), EG__BLOCK, 0, s, k);
    return e ? e : start_elements<T, S, false>(k, s);
}

template <class T, class S> cudaError_t start_grad(const eg__normed &k, cudaStream_t s)
{
    cudaError_t e = EG__LAUNCH(make_cells<T>, eg__blocks(k.images * k.channels.d), EG__BLOCK, 0, s, k);
    e = e ? e : start_sums<T>(k, slopes_of<T, S>(), s);
    e = e ? e : EG__LAUNCH(finish_slopes<T>, eg__blocks(k.images * k.groups * WARP), EG__BLOCK, 0, s, k);
    e = e ? e : EG__LAUNCH(finish_parameters<T>, eg__blocks(k.channels.d * WARP), EG__BLOCK, 0, s, k, 0);
    return e ? e : start_elements<T, S, true>(k, s);
}

template <class T, class S> cudaError_t start_scale(const eg__normed &k, cudaStream_t s)
{
    cudaError_t e = EG__LAUNCH(make_cells<T>, eg__blocks(k.images * k.channels.d), EG__BLOCK, 0, s, k);
    return e ? e : start_elements<T, S, false>(k, s);
}

template <class T, class S> cudaError_t start_row_sums(const eg__normed &k, int root, cudaStream_t s)
{
    cudaError_t e = start_sums<T>(k, row_slopes_of<T, S>(root), s);
    return e ? e : EG__LAUNCH(finish_parameters<T>, eg__blocks(k.channels.d * WARP), EG__BLOCK, 0, s, k, 1);
}

/* ---- rows --------------------------------------------------------------------------------------------- */

/* Less the first element, so that a large mean costs no digits. */
template <class T> struct row_moments : eg__moments<T> {
    T first;
    eg__about<T> s;
    EG__FN explicit row_moments(T x) : first(x), s(this->none()) {}
    EG__FN void one(const T *v, T &, int64_t)
    {
        this->take(s, v[0] - first);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *, int64_t)
    {
        const T less[EG__QUAD] = {v[0][0] - first, v[0][1] - first, v[0][2] - first, v[0][3] - first};
        this->take4(s, less);
    }
};

/* An element from x. */
template <class T> struct row_forward {
    const T *weight, *bias;
    T first, mean, scale; /* mean: less the first */

    EG__FN T at(T x, int64_t j) const
    {
        return (x - first - mean) * scale * (weight ? weight[j] : 1) + (bias ? bias[j] : 0);
    }
    EG__FN void one(const T *v, T &y, int64_t j) const
    {
        y = at(v[0], j);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *y, int64_t j) const
    {
#pragma unroll
        for (int i = 0; i < EG__QUAD; i++) {
            y[i] = at(v[0][i], j + i);
        }
    }
};

/* Of dy and x: sums of dy weight, and of that times what is normalised. */
template <class T> struct row_sums {
    const T *weight;
    T mean, scale;
    slopes<T> s;

    EG__FN void add(T dy, T x, int64_t j)
    {
        const T h = dy * (weight ? weight[j] : 1);
        s.sum += h;
        s.product += h * ((x - mean) * scale);
    }
    EG__FN void one(const T *v, T &, int64_t j)
    {
        add(v[0], v[1], j);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *, int64_t j)
    {
#pragma unroll
        for (int i = 0; i < EG__QUAD; i++) {
            add(v[0][i], v[1][i], j + i);
        }
    }
};

template <class T> struct row_backward {
    const T *weight;
    T mean, scale, sum, product; /* means of the sums */

    EG__FN T at(T dy, T x, int64_t j) const
    {
        return scale * (dy * (weight ? weight[j] : 1) - sum - (x - mean) * scale * product);
    }
    EG__FN void one(const T *v, T &dx, int64_t j) const
    {
        dx = at(v[0], v[1], j);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *dx, int64_t j) const
    {
#pragma unroll
        for (int i = 0; i < EG__QUAD; i++) {
            dx[i] = at(v[0][i], v[1][i], j + i);
        }
    }
};

#define ROW_KERNEL(T) __global__ void __launch_bounds__(EG__LINE_BLOCK, EG__LINE_BLOCKS(T))

template <class T> ROW_KERNEL(T) normalise_rows(const eg__row_norm k)
{
    __shared__ eg__about<T> room[EG__LINE_BLOCK / 32];
    const int64_t i = eg__own_line(k.l.lanes);
    const unsigned lane = threadIdx.x & (k.l.lanes - 1);
    const bool live = i < k.l.at.n;
    const eg__line_at<1> from(k.l, live ? i : 0);
    row_moments<T> m(k.root ? 0 : eg__get<T>(from.p[0], k.l.dtype[0]));
    if (live) {
        eg__along_line<T, 1, 0>(k.l, from, lane, k.l.lanes, m);
    }
    const eg__about<T> a = eg__join_lanes(eg__moments<T>(), m.s, k.l.lanes, room);
    if (!live) {
        return;
    }
    const T mean = k.root ? 0 : a.mean, var = a.squares / a.n + (k.root ? a.mean * a.mean : 0);
    const row_forward<T> f = {(const T *)k.weight, (const T *)k.bias, m.first, mean, 1 / eg__fn_sqrt(var + (T)k.eps)};
    if (!lane) {
        ((T *)k.mean)[i] = m.first + mean;
        ((T *)k.var)[i] = var;
    }
    const eg__line_at<2> at(k.l, i);
    eg__along_line<T, 1, 1>(k.l, at, lane, k.l.lanes, f);
}

template <class T> ROW_KERNEL(T) normalise_rows_grad(const eg__row_norm k)
{
    __shared__ slopes<T> room[EG__LINE_BLOCK / 32];
    const int64_t i = eg__own_line(k.l.lanes);
    const unsigned lane = threadIdx.x & (k.l.lanes - 1);
    const bool live = i < k.l.at.n;
    const T mean = live && !k.root ? ((const T *)k.mean)[i] : 0;
    const T scale = live ? 1 / eg__fn_sqrt(((const T *)k.var)[i] + (T)k.eps) : 0;
    row_sums<T> r = {(const T *)k.weight, mean, scale, {0, 0}};
    if (live) {
        const eg__line_at<2> from(k.l, i);
        eg__along_line<T, 2, 0>(k.l, from, lane, k.l.lanes, r);
    }
    const slopes<T> s = eg__join_lanes(adding<T>(), r.s, k.l.lanes, room);
    if (live) {
        const T n = (T)k.l.n;
        const row_backward<T> f = {(const T *)k.weight, mean, scale, k.root ? 0 : s.sum / n, s.product / n};
        const eg__line_at<3> at(k.l, i);
        eg__along_line<T, 2, 1>(k.l, at, lane, k.l.lanes, f);
    }
}

} // namespace

/* ---- starting ----------------------------------------------------------------------------------------- */

/* What it is computed in and how it lies. */
#define OF_DTYPE(start, ...)                                   \
    (k->dtype == EG_F64   ? start<double, double>(__VA_ARGS__) \
     : k->dtype == EG_F32 ? start<float, float>(__VA_ARGS__)   \
                          : start<float, uint16_t>(__VA_ARGS__))

cudaError_t eg__launch_normalise(const eg__normed *k, cudaStream_t s)
{
    return OF_DTYPE(start, *k, s);
}

cudaError_t eg__launch_normalise_grad(const eg__normed *k, cudaStream_t s)
{
    return OF_DTYPE(start_grad, *k, s);
}

cudaError_t eg__launch_scale(const eg__normed *k, cudaStream_t s)
{
    return OF_DTYPE(start_scale, *k, s);
}

cudaError_t eg__launch_row_norm_sums(const eg__normed *k, int root, cudaStream_t s)
{
    return OF_DTYPE(start_row_sums, *k, root, s);
}

cudaError_t eg__launch_row_norm(const eg__row_norm *k, cudaStream_t s)
{
    const unsigned grid = eg__line_blocks(k->l.at.n, EG__LINE_BLOCK / k->l.lanes);
    return k->l.in == EG__IN_F64 ? EG__LAUNCH(normalise_rows<double>, grid, EG__LINE_BLOCK, 0, s, *k)
                                 : EG__LAUNCH(normalise_rows<float>, grid, EG__LINE_BLOCK, 0, s, *k);
}

cudaError_t eg__launch_row_norm_grad(const eg__row_norm *k, cudaStream_t s)
{
    const unsigned grid = eg__line_blocks(k->l.at.n, EG__LINE_BLOCK / k->l.lanes);
    return k->l.in == EG__IN_F64 ? EG__LAUNCH(normalise_rows_grad<double>, grid, EG__LINE_BLOCK, 0, s, *k)
                                 : EG__LAUNCH(normalise_rows_grad<float>, grid, EG__LINE_BLOCK, 0, s, *k);
}
