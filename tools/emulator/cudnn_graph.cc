/* cudnn_graph.cc - what graphs of the fake cuDNN compute: operation by operation, in double
 * precision, every tensor rounded to its type. */
#include <math.h>

#include "lib/math/half.h"
#include "tools/emulator/cudnn.h"

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t eg__graph_size_of(int type)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
        return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
        return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
        return 2;
    default:
        return 1;
    }
}

static double load(const char *p, int type, int64_t i)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
        return reinterpret_cast<const double *>(p)[i];
    case CUDNN_DATA_INT64:
        return double(reinterpret_cast<const int64_t *>(p)[i]);
    case CUDNN_DATA_FLOAT:
        return double(reinterpret_cast<const float *>(p)[i]);
    case CUDNN_DATA_INT32:
        return double(reinterpret_cast<const int32_t *>(p)[i]);
    case CUDNN_DATA_HALF:
        return double(eg__f16_to_f32(reinterpret_cast<const uint16_t *>(p)[i]));
    case CUDNN_DATA_BFLOAT16:
        return double(eg__bf16_to_f32(reinterpret_cast<const uint16_t *>(p)[i]));
    default:
        return double(p[i]);
    }
}

static void store(char *p, int type, int64_t i, double v)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
        reinterpret_cast<double *>(p)[i] = v;
        break;
    case CUDNN_DATA_INT64:
        reinterpret_cast<int64_t *>(p)[i] = int64_t(v);
        break;
    case CUDNN_DATA_FLOAT:
        reinterpret_cast<float *>(p)[i] = float(v);
        break;
    case CUDNN_DATA_INT32:
        reinterpret_cast<int32_t *>(p)[i] = int32_t(v);
        break;
    case CUDNN_DATA_HALF:
        reinterpret_cast<uint16_t *>(p)[i] = eg__f32_to_f16(float(v));
        break;
    case CUDNN_DATA_BFLOAT16:
        reinterpret_cast<uint16_t *>(p)[i] = eg__f32_to_bf16(float(v));
        break;
    default:
        p[i] = v != 0;
    }
}

/* As tensor cores read f32. */
static double to_tf32(double v)
{
    float f = float(v);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits >> 23 & 255) != 255) {
        bits = (bits + 0x1000) & ~0x1fffu;
    }
    memcpy(&f, &bits, sizeof f);
    return double(f);
}

/* ---- tensors while a graph runs -------------------------------------------------------------- */

typedef std::vector<int64_t> numbers;

struct field {
    numbers size, stride;
    int type;
    char *at;
    std::shared_ptr<std::vector<char>> own; /* of a tensor between operations */
    bool narrow;

    double get(int64_t place) const
    {
        double v = load(at, type, place);
        return narrow ? to_tf32(v) : v;
    }
    void put(int64_t place, double v) const
    {
        store(at, type, place, v);
    }
    int64_t count() const
    {
        int64_t n = 1;
        for (int64_t s : size) {
            n *= s;
        }
        return n;
    }
    /* Of an index into another shape: where this one has size 1 it is repeated, and where it has
     * fewer every one of them serves as many. */
    int64_t place(const numbers &index, const numbers &of) const
    {
        int64_t p = 0;
        for (size_t d = 0; d < size.size(); d++) {
            p += (size[d] == of[d] ? index[d] : index[d] * size[d] / of[d]) * stride[d];
        }
        return p;
    }
};

/* Every index of a shape, the last axis fastest. */
template <class F> static void over(const numbers &size, F f)
{
    numbers index(size.size(), 0);
    for (int64_t s : size) {
        if (s <= 0) {
            return;
        }
    }
    for (;;) {
        f(index);
        size_t d = size.size();
        while (d > 0 && ++index[d - 1] == size[d - 1]) {
            index[--d] = 0;
        }
        if (d == 0) {
            return;
        }
    }
}

struct running {
    const std::map<int64_t, char *> &at;
    bool narrow;
    std::map<int64_t, field> fields;

    static int64_t id_of(const eg__part &tensor)
    {
        return tensor.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    }
    static bool between(const eg__part &tensor)
    {
        return tensor.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL) && tensor.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    }
    field of(const eg__part &tensor)
    {
        const int64_t id = id_of(tensor);
        if (!fields.count(id)) {
            field f{tensor.numbers(CUDNN_ATTR_TENSOR_DIMENSIONS),
                    tensor.numbers(CUDNN_ATTR_TENSOR_STRIDES),
                    int(tensor.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
                    nullptr,
                    nullptr,
                    false};
            if (between(tensor)) {
                int64_t last = 0;
                for (size_t d = 0; d < f.size.size(); d++) {
                    last += (f.size[d] - 1) * f.stride[d];
                }
                f.own = std::make_shared<std::vector<char>>(size_t((last + 1) * eg__graph_size_of(f.type)));
                f.at = f.own->data();
            } else {
                f.at = at.at(id);
            }
            fields[id] = f;
        }
        return fields[id];
    }
    /* As tensor cores would see it. */
    field factor(const eg__part &tensor)
    {
        field f = of(tensor);
        f.narrow = narrow && f.type == CUDNN_DATA_FLOAT;
        return f;
    }
};

/* ---- convolutions ---------------------------------------------------------------------------- */

struct conv_names {
    int x, w, y, conv, alpha;
};

static bool conv_of(const eg__part &op, conv_names *n)
{
    switch (op.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        *n = conv_names{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA};
        return true;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        *n = conv_names{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA};
        return true;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        *n = conv_names{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA};
        return true;
    default:
        return false;
    }
}

static std::string conv_refuses(const eg__part &op, const conv_names &n)
{
    if (!op.has(n.x) || !op.has(n.w) || !op.has(n.y) || !op.has(n.conv)) {
        return "a tensor or the geometry is missing";
    }
    const eg__part &v = op.at(n.conv);
    const bool wide_sums = v.get<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_DOUBLE;
    if (!op.has(n.alpha) || op.values.at(n.alpha).type != (wide_sums ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT)) {
        return "a factor of another type than sums are made in";
    }
    const numbers x = op.at(n.x).numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const numbers w = op.at(n.w).numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const numbers y = op.at(n.y).numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const numbers step = v.numbers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    const numbers wide = v.numbers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
    const numbers before = v.numbers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    const numbers after = v.numbers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    const size_t axes = step.size();
    if (axes < 2 || axes > 3 || x.size() != axes + 2 || w.size() != axes + 2 || y.size() != axes + 2 ||
        wide.size() != axes || before.size() != axes || after.size() != axes) {
        return "numbers of axes";
    }
    if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] || y[1] % (x[1] / w[1])) {
        return "batches or channels";
    }
    for (size_t d = 0; d < axes; d++) {
        const int64_t room = x[d + 2] + before[d] + after[d] - (w[d + 2] - 1) * wide[d] - 1;
        if (room < 0 || room / step[d] + 1 != y[d + 2]) {
            return "sizes of space";
        }
    }
    return "";
}

/* A tensor's numbers with the channels innermost and three axes of space: loops over them are short. */
struct packed {
    int64_t n, c, s[3] = {1, 1, 1};
    std::vector<double> v;

    packed(const field &f, bool zero)
    {
        n = f.size[0];
        c = f.size[1];
        for (size_t d = 2; d < f.size.size(); d++) {
            s[d + 3 - f.size.size()] = f.size[d];
        }
        v.resize(size_t(f.count()), 0);
        if (!zero) {
            over(f.size, [&](const numbers &i) { v[place(i)] = f.get(f.place(i, f.size)); });
        }
    }
    size_t place(const numbers &i) const
    {
        int64_t p = i[0];
        for (size_t d = 2; d < i.size(); d++) {
            p = p * s[d + 3 - i.size()] + i[d];
        }
        return size_t(p * c + i[1]);
    }
    double *at(int64_t i, const int64_t *p)
    {
        return &v[size_t((((i * s[0] + p[0]) * s[1] + p[1]) * s[2] + p[2]) * c)];
    }
    void give(const field &f) const
    {
        over(f.size, [&](const numbers &i) { f.put(f.place(i, f.size), v[place(i)]); });
    }
};

/* Every place of three axes. */
template <class F> static void over_space(const int64_t *size, F f)
{
    int64_t p[3];
    for (p[0] = 0; p[0] < size[0]; p[0]++) {
        for (p[1] = 0; p[1] < size[1]; p[1]++) {
            for (p[2] = 0; p[2] < size[2]; p[2]++) {
                f(p);
            }
        }
    }
}

static void run_conv(running &r, const eg__part &op, const conv_names &n)
{
    enum {
        Y,
        X,
        W
    } what = op.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
                 ? Y
                 : op.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                 ? X
                                : W;
                                const eg__part &v = op.at(n.conv);
                                const numbers step = v.numbers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
                                const numbers wide = v.numbers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
                                const numbers before = v.numbers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
                                const field fx = r.factor(op.at(n.x)), fw = r.factor(op.at(n.w)),
                                            fy = r.factor(op.at(n.y));
                                packed x(fx, what == X), w(fw, what == W), y(fy, what == Y);
                                const int64_t each = w.c, outs = y.c / (x.c / each), first = 3 - int64_t(step.size());
                                over_space(y.s, [&](const int64_t *py) {
                                    over_space(w.s, [&](const int64_t *pw) {
                                        int64_t px[3] = {0, 0, 0};
                                        for (int64_t d = first; d < 3; d++) {
                                            const size_t k = size_t(d - first);
                                            px[d] = py[d] * step[k] + pw[d] * wide[k] - before[k];
                                            if (px[d] < 0 || px[d] >= x.s[d]) {
                                                return;
                                            }
                                        }
                                        for (int64_t i = 0; i < y.n; i++) {
                                            double *out = y.at(i, py), *in = x.at(i, px);
                                            for (int64_t k = 0; k < y.c; k++) {
                                                double *a = in + k / outs * each, *b = w.at(k, pw), sum = 0;
                                                for (int64_t c = 0; c < each && what == Y; c++) {
                                                    sum += a[c] * b[c];
                                                }
                                                for (int64_t c = 0; c < each && what == X; c++) {
                                                    a[c] += out[k] * b[c];
                                                }
                                                for (int64_t c = 0; c < each && what == W; c++) {
                                                    b[c] += out[k] * a[c];
                                                }
                                                out[k] += sum;
                                            }
                                        }
                                    });
                                });
                                (what == Y ? y : what == X ? x : w).give(what == Y ? fy : what == X ? fx : fw);
}

/* ---- formulas, products, sums ---------------------------------------------------------------- */

static double formula(int mode, double x, double b, double t)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        return x + b;
    case CUDNN_POINTWISE_SUB:
        return x - b;
    case CUDNN_POINTWISE_MUL:
        return x * b;
    case CUDNN_POINTWISE_DIV:
        return x / b;
    case CUDNN_POINTWISE_MAX:
        return x > b ? x : b;
    case CUDNN_POINTWISE_MIN:
        return x < b ? x : b;
    case CUDNN_POINTWISE_EXP:
        return exp(x);
    case CUDNN_POINTWISE_LOG:
        return log(x);
    case CUDNN_POINTWISE_NEG:
        return -x;
    case CUDNN_POINTWISE_IDENTITY:
        return x;
    case CUDNN_POINTWISE_RECIPROCAL:
        return 1 / x;
    case CUDNN_POINTWISE_RELU_FWD:
        return x > 0 ? x : 0;
    case CUDNN_POINTWISE_TANH_FWD:
        return tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
        return 1 / (1 + exp(-x));
    case CUDNN_POINTWISE_CMP_EQ:
        return x == b;
    case CUDNN_POINTWISE_CMP_NEQ:
        return x != b;
    case CUDNN_POINTWISE_CMP_GT:
        return x > b;
    case CUDNN_POINTWISE_CMP_GE:
        return x >= b;
    case CUDNN_POINTWISE_CMP_LT:
        return x < b;
    case CUDNN_POINTWISE_CMP_LE:
        return x <= b;
    case CUDNN_POINTWISE_LOGICAL_AND:
        return x != 0 && b != 0;
    case CUDNN_POINTWISE_LOGICAL_OR:
        return x != 0 || b != 0;
    case CUDNN_POINTWISE_LOGICAL_NOT:
        return x == 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
        return t != 0 ? x : b;
    default:
        return NAN;
    }
}

static bool known(int mode)
{
    return mode == CUDNN_POINTWISE_GEN_INDEX || mode == CUDNN_POINTWISE_LOG || !isnan(formula(mode, 0.5, 0.5, 1));
}

static int mode_of(const eg__part &op)
{
    return int(
        op.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR).get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE));
}

static void run_point(running &r, const eg__part &op)
{
    const int mode = mode_of(op);
    const eg__part &how = op.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const size_t axis = how.has(CUDNN_ATTR_POINTWISE_AXIS) ? size_t(how.get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS)) : 0;
    const field x = r.of(op.at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    const field y = r.of(op.at(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    const bool two = op.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC), three = op.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    const field b = two ? r.of(op.at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) : x;
    const field t = three ? r.of(op.at(CUDNN_ATTR_OPERATION_POINTWISE_TDESC)) : x;
    const bool spread = how.has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) &&
                        how.get<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) == CUDNN_PROPAGATE_NAN;
    over(y.size, [&](const numbers &i) {
        const double from = x.get(x.place(i, y.size));
        const double v = mode == CUDNN_POINTWISE_GEN_INDEX ? double(i[axis])
                         : spread && isnan(from)
                             ? from
                             : formula(mode, from, b.get(b.place(i, y.size)), t.get(t.place(i, y.size)));
        y.put(y.place(i, y.size), v);
    });
}

static void run_matmul(running &r, const eg__part &op)
{
    const field a = r.factor(op.at(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    const field b = r.factor(op.at(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    const field y = r.of(op.at(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
    const size_t n = y.size.size();
    over(y.size, [&](const numbers &i) {
        numbers at_a = i, at_b = i, size_a = y.size, size_b = y.size;
        size_a[n - 1] = a.size[n - 1];
        size_b[n - 2] = b.size[n - 2];
        double sum = 0;
        for (int64_t k = 0; k < a.size[n - 1]; k++) {
            at_a[n - 1] = at_b[n - 2] = k;
            sum += a.get(a.place(at_a, size_a)) * b.get(b.place(at_b, size_b));
        }
        y.put(y.place(i, y.size), sum);
    });
}

static void run_reduce(running &r, const eg__part &op)
{
    const int mode =
        int(op.at(CUDNN_ATTR_OPERATION_REDUCTION_DESC).get<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR));
    const field x = r.of(op.at(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    const field y = r.of(op.at(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    const bool most = mode == CUDNN_REDUCE_TENSOR_MAX;
    std::map<int64_t, double> sums;
    over(y.size, [&](const numbers &i) { sums[y.place(i, y.size)] = most ? -double(INFINITY) : 0; });
    over(x.size, [&](const numbers &i) {
        double &sum = sums[y.place(i, x.size)];
        const double v = x.get(x.place(i, x.size));
        sum = !most ? sum + v : v > sum || isnan(v) ? v : sum;
    });
    for (const auto &s : sums) {
        y.put(s.first, s.second);
    }
}

/* The same memory seen in another shape: how a transpose is said, too. */
static void run_reshape(running &r, const eg__part &op)
{
    const field x = r.of(op.at(CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
    const field y = r.of(op.at(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
    over(x.size, [&](const numbers &i) {
        const int64_t at = x.place(i, x.size);
        y.put(at, x.get(at));
    });
}

/* ---- all operations -------------------------------------------------------------------------- */

struct op_names {
    int type, y;
    std::vector<int> in; /* the last two of formulas need not be there */
};

static const std::vector<op_names> &all_names(void)
{
    static const std::vector<op_names> *all = new std::vector<op_names>{
        {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
         {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
          CUDNN_ATTR_OPERATION_POINTWISE_TDESC}},
        {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_MATMUL_CDESC,
         {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC}},
        {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
         {CUDNN_ATTR_OPERATION_REDUCTION_XDESC}},
        {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
         {CUDNN_ATTR_OPERATION_RESHAPE_XDESC}},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W}},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
         {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
         {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}},
    };
    return *all;
}

static const op_names *names_of(const eg__part &op)
{
    for (const op_names &n : all_names()) {
        if (n.type == op.type) {
            return &n;
        }
    }
    return nullptr;
}

std::vector<eg__part_ref> eg__graph_reads(const eg__part &op)
{
    std::vector<eg__part_ref> all;
    for (int name : names_of(op)->in) {
        if (op.has(name)) {
            all.push_back(op.values.at(name).parts[0]);
        }
    }
    return all;
}

eg__part_ref eg__graph_writes(const eg__part &op)
{
    return op.values.at(names_of(op)->y).parts[0];
}

std::string eg__graph_refuses(const eg__part &op)
{
    const op_names *n = names_of(op);
    conv_names conv;
    if (!n) {
        return "the fake has no such operation";
    }
    const bool point = op.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
    for (size_t i = 0; i < n->in.size(); i++) {
        if (!op.has(n->in[i]) && !(point && i > 0)) {
            return "a tensor is missing";
        }
    }
    if (!op.has(n->y)) {
        return "the result is missing";
    }
    if (point && !known(mode_of(op))) {
        return "the fake has no such formula";
    }
    return conv_of(op, &conv) ? conv_refuses(op, conv) : "";
}

static void run_op(running &r, const eg__part &op)
{
    conv_names conv;
    if (conv_of(op, &conv)) {
        run_conv(r, op, conv);
        return;
    }
    switch (op.type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        run_point(r, op);
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        run_matmul(r, op);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        run_reduce(r, op);
        break;
    default:
        run_reshape(r, op);
    }
}

void eg__graph_run(const eg__part &graph, const std::map<int64_t, char *> &at, bool narrow)
{
    running r{at, narrow, {}};
    const std::vector<eg__part_ref> &ops = graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts;
    std::set<int64_t> unmade; /* results, until they are there */
    for (const eg__part_ref &op : ops) {
        unmade.insert(running::id_of(*eg__graph_writes(*op)));
    }
    std::vector<bool> ran(ops.size(), false);
    for (size_t left = ops.size(), before = 0; left && left != before;) {
        before = left;
        for (size_t i = 0; i < ops.size(); i++) {
            bool ready = !ran[i];
            for (const eg__part_ref &t : eg__graph_reads(*ops[i])) {
                ready = ready && !unmade.count(running::id_of(*t));
            }
            if (ready) {
                run_op(r, *ops[i]);
                unmade.erase(running::id_of(*eg__graph_writes(*ops[i])));
                ran[i] = true;
                left--;
            }
        }
    }
}
