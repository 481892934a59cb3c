/* loss.cu - cross entropy with labels: the loss of each row of logits in one reading, and its gradient in another.
 * The target of class c is (1 - s) [c = label] + s / classes, times its weight. */
#include "lib/cuda/common/fault.cuh"
#include "lib/cuda/reduce/loss.h"
#include "lib/cuda/reduce/softmax.cuh"

#define ROW_KERNEL(T) template <class T> __global__ void __launch_bounds__(EG__LINE_BLOCK, EG__LINE_BLOCKS(T))

template <class T> struct total {
    EG__FN T both(T a, T b) const
    {
        return a + b;
    }
};

/* ---- a row's targets ------------------------------------------------------------------------------------- */

template <class T> struct targets {
    const T *weight;
    T hit, each;   /* 1 - s, s / classes */
    int64_t label; /* -1: the row counts for nothing */

    /* Of row i, whose labels out of range `tell` says. */
    EG__FN targets(const eg__labelled &k, int64_t i, bool tell)
        : weight((const T *)k.weight), hit((T)(1 - k.smoothing)), each((T)(k.smoothing / (double)k.l.n)),
          label(k.labels[i])
    {
        if (k.ignore && label == k.ignore_index) {
            label = -1;
        } else if (label < 0 || label >= k.l.n) {
            if (tell) {
                eg__report(k.fault, k.op, nullptr, label, 0, k.l.n);
            }
            label = -1;
        }
    }
    EG__FN T weight_of(int64_t j) const
    {
        return weight ? weight[j] : 1;
    }
    EG__FN T at(int64_t j) const
    {
        return ((j == label ? hit : 0) + each) * weight_of(j);
    }
};

/* ---- the loss -------------------------------------------------------------------------------------------- */

template <class T> struct weigh : eg__weighing<T> {
    eg__weighed<T> s;

    EG__FN weigh() : s(this->none()) {}
    EG__FN void one(const T *v, T &, int64_t j)
    {
        this->take(s, v[0], j);
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *, int64_t j)
    {
        this->take4(s, v[0], j);
    }
};

/* The sum over all classes, for smoothed targets. */
template <class T> struct smooth {
    const targets<T> &t;
    T top, log_sum, loss;

    EG__FN void one(const T *v, T &, int64_t j)
    {
        loss += t.at(j) * (log_sum - (v[0] - top));
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *, int64_t j)
    {
#pragma unroll
        for (int i = 0; i < EG__QUAD; i++) {
            loss += t.at(j + i) * (log_sum - (v[0][i] - top));
        }
    }
};

ROW_KERNEL(T) losses(const eg__labelled k)
{
    __shared__ eg__weighed<T> room[EG__LINE_BLOCK / 32];
    __shared__ T more_room[EG__LINE_BLOCK / 32];
    const eg__lines &l = k.l;
    const unsigned lane = threadIdx.x & (l.lanes - 1);
    const int64_t i = eg__own_line(l.lanes);
    const bool live = i < l.at.n;
    const eg__line_at<1> at(l, live ? i : 0);
    weigh<T> w;
    if (live) {
        eg__along_line<T, 1, 0>(l, at, lane, l.lanes, w);
    }
    const eg__weighed<T> s = eg__join_lanes(eg__weighing<T>(), w.s, l.lanes, room);
    const targets<T> t(k, live ? i : 0, live && !lane);
    smooth<T> all = {t, s.top, eg__fn_log(s.sum), 0};
    if (k.smoothing > 0) {
        if (live) {
            eg__along_line<T, 1, 0>(l, at, lane, l.lanes, all);
        }
        all.loss = eg__join_lanes(total<T>(), all.loss, l.lanes, more_room);
    }
    if (!live || lane) {
        return;
    }
    T loss = 0;
    if (t.label >= 0) {
        const T x = eg__get<T>(at.p[0] + t.label * l.size[0], l.dtype[0]);
        loss = k.smoothing > 0 ? all.loss : t.weight_of(t.label) * (all.log_sum - (x - s.top));
    }
    T *rows = (T *)k.rows + 3 * i;
    ((T *)k.loss)[i] = loss;
    rows[0] = s.top;
    rows[1] = 1 / s.sum;
    rows[2] = t.label >= 0 ? t.weight_of(t.label) : 0;
}

/* ---- its gradient ---------------------------------------------------------------------------------------- */

/* dx = dy (softmax(x) sum(targets) - targets) */
template <class T> struct slope {
    const targets<T> &t;
    T top, scale, dy;

    EG__FN void one(const T *v, T &dx, int64_t j) const
    {
        dx = t.label < 0 ? 0 : dy * (eg__fn_exp(v[0] - top) * scale - t.at(j));
    }
    EG__FN void four(const T (*v)[EG__QUAD], T *dx, int64_t j) const
    {
#pragma unroll(sizeof(T) == 4 ? 4 : 1)
        for (int i = 0; i < EG__QUAD; i++) {
            one(v[0] + i, dx[i], j + i);
        }
    }
};

ROW_KERNEL(T) slopes(const eg__labelled k)
{
    __shared__ T room[EG__LINE_BLOCK / 32];
    const eg__lines &l = k.l;
    const unsigned lane = threadIdx.x & (l.lanes - 1);
    const int64_t i = eg__own_line(l.lanes);
    const bool live = i < l.at.n;
    const eg__line_at<2> at(l, live ? i : 0);
    const targets<T> t(k, live ? i : 0, false);
    T sum = t.each * (T)l.n; /* of the weights of all classes, as far as they are in the targets */
    if (t.weight && k.smoothing > 0) {
        sum = 0;
        for (int64_t j = lane; j < l.n; j += l.lanes) {
            sum += t.weight[j];
        }
        sum = t.each * eg__join_lanes(total<T>(), sum, l.lanes, room);
    }
    if (live) {
        const T *rows = (const T *)k.rows + 3 * i;
        sum += t.label < 0 ? 0 : t.hit * t.weight_of(t.label);
        const slope<T> f = {t, rows[0], rows[1] * sum, ((const T *)k.dy)[i]};
        eg__along_line<T, 1, 1>(l, at, lane, l.lanes, f);
    }
}

cudaError_t eg__launch_cross_entropy(const eg__labelled *k, cudaStream_t s)
{
    const unsigned grid = eg__line_blocks(k->l.at.n, EG__LINE_BLOCK / k->l.lanes);
    return k->l.in == EG__IN_F64 ? EG__LAUNCH(losses<double>, grid, EG__LINE_BLOCK, 0, s, *k)
                                 : EG__LAUNCH(losses<float>, grid, EG__LINE_BLOCK, 0, s, *k);
}

cudaError_t eg__launch_cross_entropy_grad(const eg__labelled *k, cudaStream_t s)
{
    const unsigned grid = eg__line_blocks(k->l.at.n, EG__LINE_BLOCK / k->l.lanes);
    return k->l.in == EG__IN_F64 ? EG__LAUNCH(slopes<double>, grid, EG__LINE_BLOCK, 0, s, *k)
                                 : EG__LAUNCH(slopes<float>, grid, EG__LINE_BLOCK, 0, s, *k);
}
