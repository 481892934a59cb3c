/* scaled_crop.c - the loops of eg_image_decode_crop, built for each instruction set. First down, all
 * bytes of a row alike; then each output pixel gathers its neighbours, four numbers at a time. */
#include "data/image/scaled_crop.h"
#include "lib/core/isa.h"

eg__shrink_fn ISA(eg__shrink_run);

typedef float four __attribute__((vector_size(16)));

static inline four load(const float *p)
{
    four v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Left to themselves, compilers make of these four numbers shuffles in wider registers. */
static inline __attribute__((always_inline)) void gather(const eg__shrink *s, int many, int step, float *to)
{
    const float *weight = s->right.weight;
    four scale = load(s->scale), offset = load(s->offset);
    for (int x = 0; x < s->right.count; x++, weight += many) {
        const float *from = s->row + step * (s->right.first[x] - s->left);
        four sum = weight[0] * load(from);
        for (int k = 1; k < many; k++) {
            sum += weight[k] * load(from + step * k);
        }
        sum = sum * scale + offset;
        memcpy(to + 3 * x, &sum, sizeof sum); /* the fourth is overwritten by the next */
    }
}

static inline __attribute__((always_inline)) void gather_some(const eg__shrink *s, int step, float *to)
{
    switch (s->right.many) {
    case 1:
        gather(s, 1, step, to);
        break;
    case 2:
        gather(s, 2, step, to);
        break;
    case 3:
        gather(s, 3, step, to);
        break;
    case 4:
        gather(s, 4, step, to);
        break;
    default:
        gather(s, s->right.many, step, to);
    }
}

static void gather_gray(const eg__shrink *s, float *to)
{
    const float *weight = s->right.weight;
    for (int x = 0; x < s->right.count; x++, weight += s->right.many) {
        const float *from = s->row + s->right.first[x] - s->left;
        float sum = 0;
        for (int k = 0; k < s->right.many; k++) {
            sum += weight[k] * from[k];
        }
        to[x] = sum * s->scale[0] + s->offset[0];
    }
}

static void gather_row(const eg__shrink *s, float *to)
{
    if (s->step == 1) {
        gather_gray(s, to);
    } else if (s->step == 3) {
        gather_some(s, 3, to);
    } else {
        gather_some(s, 4, to);
    }
}

static void mix_two(const uint8_t *restrict a, const uint8_t *restrict b, float wa, float wb, int64_t n,
                    float *restrict row)
{
    for (int64_t i = 0; i < n; i++) {
        row[i] = wa * (float)a[i] + wb * (float)b[i];
    }
}

static void add_two(const uint8_t *restrict a, const uint8_t *restrict b, float wa, float wb, int64_t n,
                    float *restrict row)
{
    for (int64_t i = 0; i < n; i++) {
        row[i] += wa * (float)a[i] + wb * (float)b[i];
    }
}

void ISA(eg__shrink_run)(const eg__shrink *s)
{
    int many = s->down.many;
    int64_t n = s->step * s->columns, width = (s->step == 1 ? 1 : 3) * s->right.count;
    const float *w = s->down.weight;
    for (int y = 0; y < s->down.count; y++, w += many) {
        const uint8_t *from = s->from + (s->down.first[y] - s->top) * s->stride;
        mix_two(from, from + (many > 1 ? s->stride : 0), w[0], many > 1 ? w[1] : 0, n, s->row);
        for (int k = 2; k < many; k += 2) {
            bool pair = k + 1 < many;
            const uint8_t *a = from + k * s->stride;
            add_two(a, a + (pair ? s->stride : 0), w[k], pair ? w[k + 1] : 0, n, s->row);
        }
        gather_row(s, y < s->down.count - 1 ? s->to + y * width : s->last);
    }
    memcpy(s->to + (s->down.count - 1) * width, s->last, (size_t)width * sizeof(float));
}
