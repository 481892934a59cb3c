/* test_cudnn_rnn_real.c - cuDNN itself takes the descriptors of recurrent layers that are made for it, and weights
 * come back from where it wants them. No card is needed: of a handle these calls look at nothing but that there is one.
 * Where another version should look further the test is skipped. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/egt.h"

#include "lib/cuda/rnn/dnn_rnn.c"

/* ---- what the file needs of the module, in host memory -------------------------------------------------- */

eg_device *const *eg__host_devices;

eg_status eg__cuda_check(eg__cuda *d, const char *op, cudaError_t e, const char *what)
{
    (void)d, (void)op, (void)what;
    return e ? EG_EFAULT : EG_OK;
}

eg_status eg__cuda_enter(eg__cuda *d, const char *op)
{
    (void)d, (void)op;
    return EG_OK;
}

eg_stream *eg__cuda_stream(eg__thread *T, eg_device *device, const char *op)
{
    (void)T, (void)device, (void)op;
    return NULL;
}

eg_status eg__cuda_upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes)
{
    (void)op, (void)T, (void)t, (void)from, (void)bytes;
    return EG_EFAULT;
}

eg_status eg__cuda_scratch(const eg__call *c, size_t bytes, eg__block **block)
{
    (void)c, (void)bytes, (void)block;
    return EG_EFAULT;
}

void eg__cuda_scratch_end(eg__block *block)
{
    (void)block;
}

eg_status eg__dnn_hold(const eg__call *c, cudnnHandle_t *handle)
{
    (void)c, (void)handle;
    return EG_EFAULT;
}

void eg__dnn_let_go(const eg__call *c)
{
    (void)c;
}

cudaError_t eg__launch_rnn_pieces(const eg__rnn_pieces *k, cudaStream_t s)
{
    (void)s;
    for (int i = 0; i < k->n; i++) {
        if (k->piece[i].from) {
            memcpy(k->piece[i].to, k->piece[i].from, (size_t)k->piece[i].bytes);
        } else {
            memset(k->piece[i].to, 0, (size_t)k->piece[i].bytes);
        }
    }
    return cudaSuccess;
}

/* ---- the test -------------------------------------------------------------------------------------------- */

enum { INPUTS = 20, WIDTH = 36, STEPS = 5, ROWS = 3 };

/* All tensors side by side, each byte a number of its own as far as there are enough. */
static own side_by_side(const net *n, char *p, bool projects)
{
    const int64_t size = n->dtype == EG_F32 ? 4 : 2, G = n->gates;
    own w = {.w_ih = p};
    w.w_hh = w.w_ih + G * WIDTH * INPUTS * size;
    w.b_ih = w.w_hh + G * WIDTH * n->state * size;
    w.b_hh = w.b_ih + G * WIDTH * size;
    w.w_hr = projects ? w.b_hh + G * WIDTH * size : NULL;
    return w;
}

/* 0: they came back; else where that ended. */
static int round_trip(int gates, int dtype, int64_t state)
{
    static long long nothing[1 << 16], area[1 << 14];
    static unsigned char there[1 << 16], again[1 << 16];
    static eg_stream stream;
    static eg__thread thread;
    int length[ROWS] = {5, 3, 1};
    const bool projects = state < WIDTH;
    const int64_t size = dtype == EG_F32 ? 4 : 2;
    const int64_t bytes = (gates * WIDTH * (INPUTS + state + 2) + (projects ? state * WIDTH : 0)) * size;
    thread.lane[1].now = &stream;
    eg__call c = {.op = &eg__op_lstm, .T = &thread, .device = 1};
    net n = {.c = &c,
             .gates = gates,
             .dtype = dtype,
             .training = true,
             .steps = STEPS,
             .rows = ROWS,
             .inputs = INPUTS,
             .width = WIDTH,
             .state = state,
             .length = length,
             .handle = (cudnnHandle_t)(void *)nothing};
    if (describe(&n)) {
        return 2;
    }
    if (n.weights < (size_t)bytes || n.weights > sizeof area || (size_t)bytes > sizeof there) {
        return 3;
    }
    for (int64_t i = 0; i < bytes; i++) {
        there[i] = (unsigned char)(i * 7 + i / 251);
    }
    if (move_weights(&n, true, (char *)area, side_by_side(&n, (char *)there, projects)) ||
        move_weights(&n, false, (char *)area, side_by_side(&n, (char *)again, projects))) {
        return 4;
    }
    return memcmp(there, again, (size_t)bytes) ? 5 : 0;
}

static int all(void)
{
    static const int dtypes[] = {EG_F32, EG_F16, EG_BF16};
    if (eg__dnn_open("test") || eg__cuda_library_open(&dnn_library, "test")) {
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        int st = round_trip(3, dtypes[i], WIDTH);
        st = st ? st : round_trip(4, dtypes[i], WIDTH);
        st = st ? st : round_trip(4, dtypes[i], WIDTH - 12);
        if (st) {
            return st;
        }
    }
    return 0;
}

EGT(weights_come_back)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        _exit(all());
    }
    EGT_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 1) {
        egt_skip(WIFEXITED(status) ? "no cuDNN 9 here" : "this cuDNN looks into handles");
    }
    EGT_EQ(WEXITSTATUS(status), 0);
}
