/* record.h - the record's entries and the walk over them, for the files of this folder. */
#ifndef EGRET_RECORD_H
#define EGRET_RECORD_H

#include "lib/ops/options.h"
#include "lib/ops/optable.h"

typedef struct eg__entry eg__entry;
typedef struct eg__chunk eg__chunk;
typedef struct eg__tape_state eg__tape_state;
typedef struct eg__leaf eg__leaf;
typedef struct eg__collect eg__collect;

typedef struct eg__record {
    eg__recording now;
    eg__entry *head, *tail;
    eg__chunk *first, *chunk;
    int64_t entries, entry_bytes, told; /* told: entries from which the log hears of their number again */
    eg__tape_state *tapes;
    uint32_t ctapes;
    uint64_t serial;
    eg__leaf *leaves; /* with a reference to each */
    uint32_t nleaves, cleaves;
    uint32_t *leaf_hash, leaf_mask; /* their places by address */
    eg__collect *collect;           /* a checkpoint noting what its segment reads from outside */
} eg__record;

/* NULL: this thread never had a tape. */
static inline eg__record *eg__record_of(const eg__thread *T)
{
    return T->record->by ? (eg__record *)T->record : NULL;
}

/* An input of an entry. */
typedef struct eg__edge {
    uint64_t slot;        /* 0: not tracked */
    const int64_t *shape; /* NULL: that of the first output */
    uint8_t ndim, dtype, device;
} eg__edge;

typedef struct eg__save {
    eg_tensor *t;
    uint32_t version, which; /* one EG__IN or EG__OUT bit */
} eg__save;

/* One op done on tracked tensors, in a chunk together with all it points at but the saved tensors. */
struct eg__entry {
    eg__entry *prev, *next;
    const eg__op *op;
    eg__rule *rule;
    const void *opts;
    uint64_t out; /* slot of output 0; the others follow */
    uint16_t nin, nsave;
    uint8_t nout;
    eg__edge *in;
    eg__save *save;
    eg__desc *out_desc; /* dtype and shape of each output, of entries with several */
};

struct eg__chunk {
    eg__chunk *next;
    size_t used, size;
    uint16_t cls;
};

/* An open tape: the interval start..end of the slots; end counts once it stopped recording. */
struct eg__tape_state {
    uint64_t id, start, end;
    eg__entry *last;
    uint32_t depth; /* of the scope it was opened in */
    bool recording, persistent, busy;
};

struct eg__leaf {
    eg_tensor *t;
    uint64_t slot;
};

/* Tensors from before `start` that a segment reads; borrowed by pointer, alive through the record. */
struct eg__collect {
    uint64_t start;
    eg_tensor *tensors[EG__MAX_SAVED_IN];
    int count;
    bool full;
};

/* An op whose rule is not in the table, for eg_custom and eg_checkpoint. */
typedef struct eg__free_op {
    eg__op op;
    eg__rule *rule;
} eg__free_op;

extern eg__rule *const eg__rules[EG__OP_COUNT];

/* The slot of a tracked tensor, giving a parameter one at its first use; 0: not tracked. */
uint64_t eg__slot_of(eg__thread *T, eg_tensor *t, bool *no_memory);
/* Appends an entry with the given rule. False: out of memory. */
bool eg__append(eg__thread *T, const eg__call *c, eg__rule *rule);
/* Drops the entries from slot `start` on. */
void eg__truncate(eg__thread *T, uint64_t start);
void eg__drop_saves(eg__thread *T, eg__entry *e);
/* Index of the tape, or -1 with words. */
int eg__find_tape(eg__thread *T, eg_tape t, const char *op);
void eg__remove_tape(eg__thread *T, int i);

/* ---- the walk, as gradient rules see it ----------------------------------------------------- */

typedef struct eg__ready eg__ready;

static inline uint32_t eg__slot_hash(uint64_t slot)
{
    return (uint32_t)slot * 2654435769u;
}

struct eg__walk {
    eg__thread *T;
    uint64_t start, end; /* the interval */
    int64_t nslots;
    eg_tensor **grad; /* by slot of the interval, then by x from before it */
    uint8_t *mark;
    uint64_t *key; /* hash of slots from before the interval */
    int32_t *value;
    uint32_t hash_mask;
    int nolder;
    eg__ready *ready; /* NULL: nobody waits for single gradients */
    const eg__entry *e;
    const void *opts; /* of the entry */
    eg_status status;
    bool wide;                                            /* the rule computes halves in f32: eg__widen */
    eg_tensor *wide_save[EG__MAX_SAVED_IN + EG__MAX_OUT]; /* the saved tensors converted so far */
    eg_tensor *wide_dy[EG__MAX_OUT];
};

/* Where a slot's gradient and marks are; xs from before the interval live in a small hash. -1: nowhere. */
static inline int64_t eg__walk_index(const eg__walk *w, uint64_t slot)
{
    if (likely(slot - w->start < w->end - w->start)) {
        return (int64_t)(slot - w->start);
    }
    if (!w->nolder || !slot) {
        return -1;
    }
    for (uint32_t h = eg__slot_hash(slot) & w->hash_mask;; h = (h + 1) & w->hash_mask) {
        if (w->key[h] == slot) {
            return w->nslots + w->value[h];
        }
        if (!w->key[h]) {
            return -1;
        }
    }
}

/* The gradient at index k as the caller gets it: borrowed from the innermost scope, without gaps but lying as it was
 * made, and sharing storage with nothing. NULL with words. */
eg_tensor *eg__hand_over(eg__walk *w, int64_t k);

/* ---- gradients that are waited for, one by one (ready.c) -------------------------------------- */

struct eg__ready {
    eg_status (*call)(int i, eg_tensor *gradient, void *user);
    void *user;
    bool null_unconnected;
    eg_tensor *const *xs, **out; /* out: NULL, or as many */
    int n;
    void *tables;
    uint16_t cls;
    /* by index: the entry that adds to the gradient last, NULL: none; whether rules read it on; and its first x, which
     * has a next one by its number; n: none */
    const eg__entry **last;
    bool *read_on;
    int32_t *first, *next;
};

/* Once paths are marked, from_y on them, and y has its gradient; `first` is the first entry. Calls for those that are
 * whole already. */
eg_status eg__ready_begin(eg__walk *w, const eg__entry *first, uint8_t from_y);
/* The rule of an entry was run, or need not be. */
eg_status eg__ready_after(eg__walk *w, const eg__entry *e);
void eg__ready_end(eg__walk *w);

/* Whether the gradient of input i is asked for. */
bool eg__needs(const eg__walk *w, int i);
/* What the row declared as saved; NULL with words if it was changed in place since. */
eg_tensor *eg__saved_in(eg__walk *w, int i);
eg_tensor *eg__saved_out(eg__walk *w, int j);
/* Gradient of output j: NULL if y does not depend on it. */
eg_tensor *eg__dy_or_null(eg__walk *w, int j);
/* The same, zeros instead of NULL. */
eg_tensor *eg__dy(eg__walk *w, int j);
eg_shape eg__in_shape(const eg__walk *w, int i);
eg_dtype eg__in_dtype(const eg__walk *w, int i);
/* For a rule that computes a gradient with several ops: if one of the entry's inputs is a half, the functions above
 * give it f32 instead of halves from here on, and eg__give rounds the gradient once. */
void eg__widen(eg__walk *w);
/* Returns the dtype of constants that are combined with the saved input i. */
static inline eg_dtype eg__wide_dtype(const eg__walk *w, int i)
{
    const eg_dtype dtype = eg__in_dtype(w, i);
    return w->wide && eg__is_half((int)dtype) ? EG_F32 : dtype;
}
/* Hands over the gradient of input i; NULL stands for a failure on record. For pointwise ops it is
 * summed over what was broadcast. */
eg_status eg__give(eg__walk *w, int i, eg_tensor *g);
/* The same with g = a b, added to a gradient there is already in the product itself where nobody can see
 * the difference: the weights of a loop are written once per step, not three times. */
eg_status eg__give_product(eg__walk *w, int i, eg_tensor *a, eg_tensor *b);
/* The same for an input of which the entry shows a slice: g is that of the slice. */
eg_status eg__give_slice(eg__walk *w, int i, eg_tensor *g, const eg__slice_opts *o);
/* Whether somebody records this walk, so that fused kernels without a rule must not be used. */
static inline bool eg__walk_recorded(const eg__walk *w)
{
    return w->T->record->recording > 0;
}
/* What a function of the user gives, `what` it is of op; its failure has words. */
eg_tensor *eg__ask(eg_function f, eg_tensor *const *inputs, int n, void *user, const char *op, const char *what);
/* g summed over the axes along which `shape` was broadcast to it. */
eg_tensor *eg__sum_to(eg_tensor *g, eg_shape shape);

#endif
