/* cudnn_rnn.cc - recurrent layers of cuDNN on fake devices: the functions lib/cuda/rnn/dnn_rnn.c calls, with plain
 * loops behind. Where weights lie in their block is an affair of its own: not the order they come in, and with gaps.
 * What is left for gradients is in the reserve alone. */
#include <math.h>

#include "lib/math/half.h"
#include "tools/emulator/cudnn.h"

#pragma GCC visibility push(default)
#include <cudnn_adv.h>
#pragma GCC visibility pop

/* ---- descriptors ------------------------------------------------------------------------------------------ */

struct cudnnRNNStruct {
    bool set;
    cudnnRNNMode_t mode;
    cudnnDataType_t type;
    int64_t inputs, width, state;
    int64_t gates() const
    {
        return mode == CUDNN_LSTM ? 4 : 3;
    }
};

struct cudnnRNNDataStruct {
    cudnnDataType_t type;
    int64_t steps, rows, size;
    std::vector<int> lengths;
    bool zeros; /* where there is no data */
};

struct cudnnTensorStruct {
    cudnnDataType_t type;
    std::vector<int> size;
};

struct cudnnDropoutStruct {
    bool set;
};

#define REFUSE_UNLESS(condition)       \
    if (!(condition)) {                \
        return CUDNN_STATUS_BAD_PARAM; \
    }

#define BEGIN()                                                                                    \
    eg__call call(__func__, eg__fake_device);                                                      \
    if (call.error) {                                                                              \
        return int(call.error) > 1000 ? cudnnStatus_t(call.error) : CUDNN_STATUS_EXECUTION_FAILED; \
    }

/* Creating and destroying one: they are counted, so that tests see what is left. */
#define KIND(Name, type)                                  \
    cudnnStatus_t cudnnCreate##Name##Descriptor(type **d) \
    {                                                     \
        BEGIN()                                           \
        call.fake.counts.dnn_parts++;                     \
        *d = new type();                                  \
        return CUDNN_STATUS_SUCCESS;                      \
    }                                                     \
    cudnnStatus_t cudnnDestroy##Name##Descriptor(type *d) \
    {                                                     \
        eg__call call(__func__, EG__NO_DEVICE);           \
        call.fake.counts.dnn_parts--;                     \
        delete d;                                         \
        return CUDNN_STATUS_SUCCESS;                      \
    }
KIND(RNN, cudnnRNNStruct)
KIND(RNNData, cudnnRNNDataStruct)
KIND(Tensor, cudnnTensorStruct)
KIND(Dropout, cudnnDropoutStruct)
#undef KIND

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t, float p, void *states, size_t bytes,
                                        unsigned long long)
{
    BEGIN()
    REFUSE_UNLESS(p == 0 && !states && !bytes)
    d->set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n, const int size[],
                                         const int step[])
{
    BEGIN()
    REFUSE_UNLESS(n == 3 && step[2] == 1 && step[1] == size[2] && step[0] == size[1] * size[2])
    *d = cudnnTensorStruct{type, std::vector<int>(size, size + n)};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t algo, cudnnRNNMode_t mode,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnDataType_t precision,
                                       cudnnMathType_t, int32_t inputs, int32_t width, int32_t state, int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t flags)
{
    BEGIN()
    REFUSE_UNLESS(algo == CUDNN_RNN_ALGO_STANDARD && (mode == CUDNN_LSTM || mode == CUDNN_GRU) &&
                  bias == CUDNN_RNN_DOUBLE_BIAS && direction == CUDNN_UNIDIRECTIONAL && input == CUDNN_LINEAR_INPUT &&
                  precision == CUDNN_DATA_FLOAT && inputs > 0 && width > 0 && state > 0 && state <= width &&
                  (state == width || mode == CUDNN_LSTM) && layers == 1 && dropout && dropout->set &&
                  flags == CUDNN_RNN_PADDED_IO_ENABLED)
    *d = cudnnRNNStruct{true, mode, type, inputs, width, state};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type, cudnnRNNDataLayout_t layout,
                                        int steps, int rows, int size, const int lengths[], void *padding)
{
    BEGIN()
    REFUSE_UNLESS(layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED && steps > 0 && rows > 0 && size > 0)
    for (int i = 0; i < rows; i++) {
        REFUSE_UNLESS(lengths[i] > 0 && lengths[i] <= steps)
    }
    *d = cudnnRNNDataStruct{type, steps, rows, size, std::vector<int>(lengths, lengths + rows), padding != nullptr};
    return CUDNN_STATUS_SUCCESS;
}

/* ---- weights ---------------------------------------------------------------------------------------------- */

static int64_t spaced(int64_t n)
{
    return (n + 63) / 64 * 64;
}

static int64_t matrix_size(const cudnnRNNStruct &r, int64_t id)
{
    return r.width * (id >= r.gates() ? r.state : r.inputs);
}

/* In elements: recurrent matrices, those of x, the projection; biases of x, recurrent ones. */
static int64_t matrix_at(const cudnnRNNStruct &r, int64_t id)
{
    const int64_t G = r.gates(), of_h = spaced(r.width * r.state), of_x = spaced(r.width * r.inputs);
    return 64 + (id == 2 * G ? G * (of_h + of_x) : id >= G ? (id - G) * of_h : G * of_h + id * of_x);
}

static int64_t bias_at(const cudnnRNNStruct &r, int64_t id)
{
    return matrix_at(r, 2 * r.gates()) + spaced(matrix_size(r, 2 * r.gates())) + id * spaced(r.width);
}

static size_t bytes_of(const cudnnRNNStruct &r)
{
    return size_t(bias_at(r, 2 * r.gates())) * size_t(r.type == CUDNN_DATA_FLOAT ? 4 : 2);
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t r, size_t *bytes)
{
    BEGIN()
    REFUSE_UNLESS(r->set)
    *bytes = bytes_of(*r);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t r, int32_t layer, size_t bytes,
                                      const void *block, int32_t id, cudnnTensorDescriptor_t matrix, void **matrix_to,
                                      cudnnTensorDescriptor_t bias, void **bias_to)
{
    BEGIN()
    const int64_t projection = 2 * r->gates(), size = r->type == CUDNN_DATA_FLOAT ? 4 : 2;
    REFUSE_UNLESS(r->set && !layer && matrix && bias && bytes == bytes_of(*r) && id >= 0 &&
                  id <= projection - (r->state == r->width) && eg__place_of(block, bytes).kind == EG__DEVICE)
    char *p = static_cast<char *>(const_cast<void *>(block));
    *matrix_to = p + matrix_at(*r, id) * size;
    *bias_to = id == projection ? nullptr : p + bias_at(*r, id) * size;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- what is left for gradients ---------------------------------------------------------------------------- */

/* A number says how far it is, then for every step and row the gates, what the reset gate met, c, o tanh c, h;
 * gradients before the activations on x's and on h's side, and of what is projected. */
enum { NOTHING, RAN, WENT_BACK };

struct left {
    double *stage, *gates, *met, *c, *cell, *h, *dz, *dm, *dr;
    int64_t n; /* numbers */

    left(const cudnnRNNStruct &r, int64_t cells, void *p)
    {
        const int64_t G = r.gates() * r.width,
                      sizes[] = {
                          1,         G * cells, r.width * cells, r.width * cells, r.width * cells, r.state * cells,
                          G * cells, G * cells, r.state * cells};
        double **to[] = {&stage, &gates, &met, &c, &cell, &h, &dz, &dm, &dr};
        n = 0;
        for (int i = 0; i < 9; i++) {
            *to[i] = static_cast<double *>(p) + n;
            n += sizes[i];
        }
    }
};

static const size_t work_bytes = 3000;

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t r, cudnnForwardMode_t mode,
                                        cudnnRNNDataDescriptor_t x, size_t *work, size_t *reserve)
{
    BEGIN()
    REFUSE_UNLESS(r->set && x->type == r->type && x->size == r->inputs)
    *work = work_bytes;
    *reserve = mode == CUDNN_FWD_MODE_TRAINING ? size_t(left(*r, x->steps * x->rows, nullptr).n) * 8 : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- computing -------------------------------------------------------------------------------------------- */

static double load(const char *p, cudnnDataType_t type, int64_t i)
{
    const uint16_t *h = reinterpret_cast<const uint16_t *>(p);
    return !p                         ? 0
           : type == CUDNN_DATA_FLOAT ? double(reinterpret_cast<const float *>(p)[i])
           : type == CUDNN_DATA_HALF  ? double(eg__f16_to_f32(h[i]))
                                      : double(eg__bf16_to_f32(h[i]));
}

static void store(char *p, cudnnDataType_t type, int64_t i, double v)
{
    uint16_t *h = reinterpret_cast<uint16_t *>(p);
    if (!p) {
        return;
    }
    if (type == CUDNN_DATA_FLOAT) {
        reinterpret_cast<float *>(p)[i] = float(v);
    } else {
        h[i] = type == CUDNN_DATA_HALF ? eg__f32_to_f16(float(v)) : eg__f32_to_bf16(float(v));
    }
}

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

/* All a call works with; addresses of host memory or the device's. */
struct job {
    cudnnRNNStruct r;
    int64_t steps, rows;
    std::vector<int> lengths;
    bool zeros;
    const int32_t *device_lengths;
    const char *x, *h0, *c0, *weights, *dy, *dh, *dc;
    char *y, *hy, *cy, *dx, *dh0, *dc0, *dweights, *work, *reserve;

    double at(const char *p, int64_t i) const
    {
        return load(p, r.type, i);
    }
    void put(char *p, int64_t i, double v) const
    {
        store(p, r.type, i, v);
    }
    double weight(int64_t id, int64_t row, int64_t column) const
    {
        const int64_t across = id == 2 * r.gates() ? r.width : id >= r.gates() ? r.state : r.inputs;
        return at(weights, matrix_at(r, id) + row * across + column);
    }
    /* The lengths a kernel would read: wrong ones spoil the result. */
    int64_t length(int64_t n) const
    {
        return device_lengths[n] == lengths[size_t(n)] ? lengths[size_t(n)] : 0;
    }
    double before(const left &l, int64_t t, int64_t n, int64_t k) const
    {
        return t ? l.h[((t - 1) * rows + n) * r.state + k] : at(h0, n * r.state + k);
    }
};

static void step(const job &j, const left &l, int64_t t, int64_t n)
{
    const int64_t G = j.r.gates(), H = j.r.width, R = j.r.state, I = j.r.inputs, cell = t * j.rows + n;
    double *gates = l.gates + cell * G * H, *c = l.c + cell * H, *out = l.cell + cell * H, *h = l.h + cell * R;
    std::vector<double> zx(size_t(G * H)), zh(size_t(G * H));
    for (int64_t i = 0; i < G * H; i++) {
        const int64_t g = i / H, k = i % H;
        double sum = j.at(j.weights, bias_at(j.r, g) + k), other = j.at(j.weights, bias_at(j.r, G + g) + k);
        for (int64_t m = 0; m < I; m++) {
            sum += j.weight(g, k, m) * j.at(j.x, cell * I + m);
        }
        for (int64_t m = 0; m < R; m++) {
            other += j.weight(G + g, k, m) * j.before(l, t, n, m);
        }
        zx[size_t(i)] = sum;
        zh[size_t(i)] = other;
    }
    for (int64_t k = 0; k < H; k++) {
        double *at = gates + k;
        const size_t z = size_t(k), w = size_t(H);
        at[0] = sigmoid(zx[z] + zh[z]);
        at[H] = sigmoid(zx[z + w] + zh[z + w]);
        if (G == 3) {
            l.met[cell * H + k] = zh[z + 2 * w];
            at[2 * H] = tanh(zx[z + 2 * w] + at[0] * zh[z + 2 * w]);
            h[k] = (1 - at[H]) * at[2 * H] + at[H] * j.before(l, t, n, k);
            continue;
        }
        at[2 * H] = tanh(zx[z + 2 * w] + zh[z + 2 * w]);
        at[3 * H] = sigmoid(zx[z + 3 * w] + zh[z + 3 * w]);
        c[k] = at[H] * (t ? c[k - j.rows * H] : j.at(j.c0, n * H + k)) + at[0] * at[2 * H];
        out[k] = at[3 * H] * tanh(c[k]);
    }
    for (int64_t i = 0; G == 4 && i < R; i++) {
        h[i] = R == H ? out[i] : 0;
        for (int64_t k = 0; R < H && k < H; k++) {
            h[i] += j.weight(8, i, k) * out[k];
        }
    }
}

static void run_forward(const job &j)
{
    const int64_t R = j.r.state, H = j.r.width;
    std::vector<double> own(size_t(left(j.r, j.steps * j.rows, nullptr).n));
    left l(j.r, j.steps * j.rows, j.reserve ? static_cast<void *>(j.reserve) : own.data());
    memset(j.work, 0x5a, work_bytes);
    for (int64_t n = 0; n < j.rows; n++) {
        const int64_t length = j.length(n);
        for (int64_t t = 0; t < j.steps; t++) {
            if (t < length) {
                step(j, l, t, n);
            }
            for (int64_t i = 0; i < R && (t < length || j.zeros); i++) {
                const int64_t at = (t * j.rows + n) * R + i;
                j.put(j.y, at, t < length ? l.h[at] : 0);
            }
        }
        for (int64_t i = 0; i < R; i++) {
            j.put(j.hy, n * R + i, j.before(l, length, n, i));
        }
        for (int64_t i = 0; i < H; i++) {
            j.put(j.cy, n * H + i, length ? l.c[((length - 1) * j.rows + n) * H + i] : 0);
        }
    }
    *l.stage = RAN;
}

/* dh and dc of the state after the step become those of the state before. */
static void step_back(const job &j, const left &l, int64_t t, int64_t n, std::vector<double> &dh,
                      std::vector<double> &dc)
{
    const int64_t G = j.r.gates(), H = j.r.width, R = j.r.state, I = j.r.inputs, cell = t * j.rows + n;
    const double *gates = l.gates + cell * G * H;
    double *dz = l.dz + cell * G * H, *dm = l.dm + cell * G * H;
    std::vector<double> past(size_t(R), 0);
    for (int64_t i = 0; i < R; i++) {
        l.dr[cell * R + i] = dh[size_t(i)] += j.at(j.dy, cell * R + i);
    }
    for (int64_t k = 0; k < H; k++) {
        const double a = gates[k], b = gates[H + k], v = gates[2 * H + k];
        if (G == 3) {
            const double d = dh[size_t(k)], dv = d * (1 - b) * (1 - v * v);
            dz[k] = dm[k] = dv * l.met[cell * H + k] * a * (1 - a);
            dz[H + k] = dm[H + k] = d * (j.before(l, t, n, k) - v) * b * (1 - b);
            dz[2 * H + k] = dv;
            dm[2 * H + k] = dv * a;
            past[size_t(k)] = d * b;
            continue;
        }
        const double o = gates[3 * H + k], tc = tanh(l.c[cell * H + k]);
        double d = R == H ? dh[size_t(k)] : 0;
        for (int64_t i = 0; R < H && i < R; i++) {
            d += dh[size_t(i)] * j.weight(8, i, k);
        }
        const double all = dc[size_t(k)] + d * o * (1 - tc * tc);
        dz[k] = all * v * a * (1 - a);
        dz[H + k] = all * (t ? l.c[(cell - j.rows) * H + k] : j.at(j.c0, n * H + k)) * b * (1 - b);
        dz[2 * H + k] = all * a * (1 - v * v);
        dz[3 * H + k] = d * tc * o * (1 - o);
        dc[size_t(k)] = all * b;
    }
    memcpy(dm, G == 4 ? dz : dm, size_t(G * H) * sizeof *dm);
    for (int64_t i = 0; i < R; i++) {
        dh[size_t(i)] = past[size_t(i)];
        for (int64_t k = 0; k < G * H; k++) {
            dh[size_t(i)] += dm[k] * j.weight(G + k / H, k % H, i);
        }
    }
    for (int64_t i = 0; i < I; i++) {
        double sum = 0;
        for (int64_t k = 0; k < G * H; k++) {
            sum += dz[k] * j.weight(k / H, k % H, i);
        }
        j.put(j.dx, cell * I + i, sum);
    }
}

static void run_backward(const job &j)
{
    const int64_t R = j.r.state, H = j.r.width, I = j.r.inputs;
    left l(j.r, j.steps * j.rows, j.reserve);
    memset(j.work, 0x5a, work_bytes);
    for (int64_t n = 0; n < j.rows; n++) {
        std::vector<double> dh(size_t(R), 0), dc(size_t(H), 0);
        for (int64_t i = 0; i < R; i++) {
            dh[size_t(i)] = j.at(j.dh, n * R + i);
        }
        for (int64_t i = 0; i < H; i++) {
            dc[size_t(i)] = j.at(j.dc, n * H + i);
        }
        for (int64_t t = j.steps; t-- > 0;) {
            if (t < j.length(n) && *l.stage == RAN) {
                step_back(j, l, t, n, dh, dc);
            } else {
                for (int64_t i = 0; i < I; i++) {
                    j.put(j.dx, (t * j.rows + n) * I + i, 0);
                }
            }
        }
        for (int64_t i = 0; i < R; i++) {
            j.put(j.dh0, n * R + i, dh[size_t(i)]);
        }
        for (int64_t i = 0; i < H; i++) {
            j.put(j.dc0, n * H + i, dc[size_t(i)]);
        }
    }
    *l.stage = WENT_BACK;
}

static void run_weights(const job &j)
{
    const int64_t G = j.r.gates(), H = j.r.width, R = j.r.state, I = j.r.inputs;
    left l(j.r, j.steps * j.rows, j.reserve);
    std::vector<double> d(size_t(bias_at(j.r, 2 * G)), 0);
    memset(j.work, 0x5a, work_bytes);
    for (int64_t cell = 0; *l.stage == WENT_BACK && cell < j.steps * j.rows; cell++) {
        const int64_t t = cell / j.rows, n = cell % j.rows;
        for (int64_t k = 0; t < j.length(n) && k < G * H; k++) {
            const int64_t g = k / H, row = k % H;
            const double dz = l.dz[cell * G * H + k], dm = l.dm[cell * G * H + k];
            for (int64_t i = 0; i < I; i++) {
                d[size_t(matrix_at(j.r, g) + row * I + i)] += dz * j.at(j.x, cell * I + i);
            }
            for (int64_t i = 0; i < R; i++) {
                const double h = t ? j.at(j.y, (cell - j.rows) * R + i) : j.at(j.h0, n * R + i);
                d[size_t(matrix_at(j.r, G + g) + row * R + i)] += dm * h;
            }
            d[size_t(bias_at(j.r, g) + row)] += dz;
            d[size_t(bias_at(j.r, G + g) + row)] += dm;
        }
        for (int64_t i = 0; t < j.length(n) && R < H && i < R; i++) {
            for (int64_t k = 0; k < H; k++) {
                d[size_t(matrix_at(j.r, 8) + i * H + k)] += l.dr[cell * R + i] * l.cell[cell * H + k];
            }
        }
    }
    for (size_t i = 0; i < d.size(); i++) {
        j.put(j.dweights, int64_t(i), j.at(j.dweights, int64_t(i)) + d[i]);
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

template <class T> static T *bytes(const void *p)
{
    return static_cast<T *>(const_cast<void *>(p));
}

static bool on_device(const void *p, int64_t n)
{
    return eg__place_of(p, size_t(n)).kind == EG__DEVICE;
}

static bool states_fit(const cudnnTensorStruct *d, const cudnnRNNStruct &r, int64_t rows, int64_t size)
{
    return d && d->type == r.type && d->size == std::vector<int>{1, int(rows), int(size)};
}

/* What all three calls are given. */
static bool fit(const cudnnRNNStruct &r, const cudnnRNNDataStruct &x, const cudnnRNNDataStruct &y,
                const int32_t *lengths, size_t weight_bytes, const void *weights, size_t bytes_of_work,
                const void *work, size_t reserve_bytes, const void *reserve, bool training, job *j)
{
    const int64_t size = r.type == CUDNN_DATA_FLOAT ? 4 : 2, cells = x.steps * x.rows;
    *j = job();
    j->r = r;
    j->steps = x.steps;
    j->rows = x.rows;
    j->lengths = x.lengths;
    j->zeros = y.zeros;
    j->device_lengths = lengths;
    j->work = bytes<char>(work);
    j->reserve = training ? bytes<char>(reserve) : nullptr;
    return r.set && x.type == r.type && y.type == r.type && x.size == r.inputs && y.size == r.state &&
           x.lengths == y.lengths && x.steps == y.steps && on_device(lengths, x.rows * 4) &&
           weight_bytes == bytes_of(r) && on_device(weights, int64_t(weight_bytes)) && bytes_of_work >= work_bytes &&
           on_device(work, work_bytes) && size > 0 &&
           (!training || (reserve_bytes == size_t(left(r, cells, nullptr).n) * 8 &&
                          on_device(reserve, int64_t(reserve_bytes)) && !(reinterpret_cast<uintptr_t>(reserve) % 8)));
}

static cudnnStatus_t queue(eg__call &call, cudnnHandle_t handle, const job &j, void (*run)(const job &))
{
    eg__task task;
    task.reach = 1u << eg__fake_device;
    task.run = [j, run]() { run(j); };
    call.fake.counts.dnn_runs++;
    return eg__push(call, handle->stream, std::move(task)) ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t r, cudnnForwardMode_t mode,
                              const int32_t lengths[], cudnnRNNDataDescriptor_t xd, const void *x,
                              cudnnRNNDataDescriptor_t yd, void *y, cudnnTensorDescriptor_t hd, const void *hx,
                              void *hy, cudnnTensorDescriptor_t cd, const void *cx, void *cy, size_t weight_bytes,
                              const void *weights, size_t bytes_of_work, void *work, size_t reserve_bytes,
                              void *reserve)
{
    BEGIN()
    job j;
    REFUSE_UNLESS(fit(*r, *xd, *yd, lengths, weight_bytes, weights, bytes_of_work, work, reserve_bytes, reserve,
                      mode == CUDNN_FWD_MODE_TRAINING, &j) &&
                  states_fit(hd, *r, xd->rows, r->state) &&
                  (r->mode == CUDNN_GRU || states_fit(cd, *r, xd->rows, r->width)))
    j.x = bytes<char>(x);
    j.y = bytes<char>(y);
    j.h0 = bytes<char>(hx);
    j.hy = bytes<char>(hy);
    j.c0 = bytes<char>(cx);
    j.cy = bytes<char>(cy);
    j.weights = bytes<char>(weights);
    return queue(call, handle, j, run_forward);
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t r, const int32_t lengths[],
                                      cudnnRNNDataDescriptor_t yd, const void *y, const void *dy,
                                      cudnnRNNDataDescriptor_t xd, void *dx, cudnnTensorDescriptor_t hd, const void *hx,
                                      const void *dhy, void *dhx, cudnnTensorDescriptor_t cd, const void *cx,
                                      const void *dcy, void *dcx, size_t weight_bytes, const void *weights,
                                      size_t bytes_of_work, void *work, size_t reserve_bytes, void *reserve)
{
    BEGIN()
    job j;
    REFUSE_UNLESS(
        fit(*r, *xd, *yd, lengths, weight_bytes, weights, bytes_of_work, work, reserve_bytes, reserve, true, &j) && y &&
        dy && dx && states_fit(hd, *r, xd->rows, r->state) &&
        (r->mode == CUDNN_GRU || states_fit(cd, *r, xd->rows, r->width)))
    j.dy = bytes<char>(dy);
    j.dx = bytes<char>(dx);
    j.h0 = bytes<char>(hx);
    j.dh = bytes<char>(dhy);
    j.dh0 = bytes<char>(dhx);
    j.c0 = bytes<char>(cx);
    j.dc = bytes<char>(dcy);
    j.dc0 = bytes<char>(dcx);
    j.weights = bytes<char>(weights);
    return queue(call, handle, j, run_backward);
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t r, cudnnWgradMode_t mode,
                                         const int32_t lengths[], cudnnRNNDataDescriptor_t xd, const void *x,
                                         cudnnTensorDescriptor_t hd, const void *hx, cudnnRNNDataDescriptor_t yd,
                                         const void *y, size_t weight_bytes, void *dweights, size_t bytes_of_work,
                                         void *work, size_t reserve_bytes, void *reserve)
{
    BEGIN()
    job j;
    REFUSE_UNLESS(
        mode == CUDNN_WGRAD_MODE_ADD &&
        fit(*r, *xd, *yd, lengths, weight_bytes, dweights, bytes_of_work, work, reserve_bytes, reserve, true, &j) &&
        x && y && states_fit(hd, *r, xd->rows, r->state))
    j.x = bytes<char>(x);
    j.y = bytes<char>(const_cast<void *>(y));
    j.h0 = bytes<char>(hx);
    j.dweights = bytes<char>(dweights);
    return queue(call, handle, j, run_weights);
}
