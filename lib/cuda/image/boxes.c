/* boxes.c - the host side of non-maximum suppression: as many rows of overlaps at once as bound their memory. */
#include "lib/cuda/image/boxes.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

eg_status eg__cuda_nms(const eg__call *c)
{
    const eg__nms_opts *o = c->opts;
    const eg_tensor *boxes = c->in[0], *classes = c->nin > 3 ? c->in[3] : NULL;
    eg__suppressing k = {.boxes = eg__ptr(boxes),
                         .order = (const int64_t *)(void *)eg__ptr(c->in[1]),
                         .classes = classes ? (const int64_t *)(void *)eg__ptr(classes) : NULL,
                         .candidate = (const uint8_t *)eg__ptr(c->in[2]),
                         .keep = (bool *)eg__ptr(c->out[0]),
                         .n = c->out[0]->n,
                         .most = o->most,
                         .threshold = o->threshold,
                         .f64 = boxes->dtype == EG_F64};
    eg__block *block = NULL;
    if (!k.n) {
        return EG_OK;
    }
    k.words = (k.n + EG__NMS_WORD - 1) / EG__NMS_WORD;
    const int64_t rows = eg__min(k.words * EG__NMS_WORD, EG__NMS_ROWS);
    eg_status st = eg__cuda_scratch(c, (size_t)((rows + 1) * k.words + 1) * sizeof(uint64_t), &block);
    if (!st) {
        k.mask = (uint64_t *)(void *)block->data;
        k.removed = k.mask + rows * k.words;
        k.kept = (int64_t *)(k.removed + k.words);
        st = eg__launched(c, eg__launch_nms_begin(&k, eg__stream_of(c)));
    }
    for (; k.first < k.n && !st; k.first += rows) {
        k.count = eg__min(rows, k.n - k.first);
        st = eg__launched(c, eg__launch_nms_rows(&k, eg__stream_of(c)));
    }
    eg__cuda_scratch_end(block);
    return st;
}
