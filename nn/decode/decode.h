/* decode.h - what sampling and beams share: asking the net, ids from and to the host. */
#ifndef EGRET_NN_DECODE_DECODE_H
#define EGRET_NN_DECODE_DECODE_H

#include <egret/egret.h>

#include "nn/decode/cache.h"

typedef struct eg__decoding {
    const char *op;
    eg_decode_fn next;
    void *user;
    eg_decode_options o;
    eg_cache *cache;
    bool own;                    /* the cache */
    eg_device *device, *outside; /* of the prompts; where the caller makes tensors, while here it is on the host */
    int64_t n, longest;          /* prompts, and ids of the longest */
    const int64_t *prompts;      /* [n, longest], on the host */
    int64_t *lengths;            /* [n] */
} eg__decoding;

/* Checks what both are given; the prompts are copied to the host within the innermost scope. */
eg_status eg__decoding_begin(eg__decoding *d, const char *op, eg_decode_fn next, void *user, eg_tensor *prompts,
                             const eg_decode_options *given);
void eg__decoding_end(eg__decoding *d);
/* The id that ends a row; -1: none does. */
int64_t eg__decoding_end_id(const eg__decoding *d);

/* Logits of what comes after ids [rows, steps] of the host; checked, NULL after a failure. */
eg_tensor *eg__decoding_ask(eg__decoding *d, const int64_t *ids, int64_t rows, int64_t steps);
/* i64 of this shape on the prompts' device; and f32. */
eg_tensor *eg__decoding_ids(const eg__decoding *d, eg_shape shape, const int64_t *ids);
/* Copies a tensor's elements into memory of the host's, of its dtype. */
eg_status eg__decoding_fetch(eg_tensor *t, eg_dtype dtype, void *to, int64_t n);

/* Logits as sampling sees them (filter.c): those of ids that rows have, [rows, steps], are penalised. */
eg_tensor *eg__penalise(eg_tensor *logits, eg_tensor *ids, double penalty);

#endif
