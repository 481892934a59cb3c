/* torch_names.c - the names that tensors have in dicts and lists of a pickle, one inside the other, and plain values as
 * texts. */
#include <math.h>

#include "lib/io/buffer.h"
#include "lib/io/torch.h"

enum { MOST_DEPTH = 100, MOST_NAME = 1023 };

typedef struct walk {
    const eg__torch *torch;
    eg__pickle *p;
    eg_tensors *map;
    int64_t left;             /* values to be met; what is shared counts each time */
    char name[MOST_NAME + 1]; /* of what it is at */
    size_t length;
} walk;

#define BAD(w, ...) eg__pickle_bad((w)->p, __VA_ARGS__)

/* ---- plain values as texts ----------------------------------------------------------------------- */

static void put_float(eg__buffer *b, double v)
{
    if (isfinite(v)) {
        eg__put_real(b, v);
    } else {
        eg__put_word(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    }
}

/* Puts what there is to say of a plain value; false: nothing. */
static bool put_plain(eg__buffer *b, const eg__pickle *p, const eg__pickle_value *v)
{
    switch ((eg__pickle_kind)v->kind) {
    case EG__PICKLE_NONE:
        eg__put_word(b, "None");
        return true;
    case EG__PICKLE_BOOL:
        eg__put_word(b, v->integer ? "True" : "False");
        return true;
    case EG__PICKLE_INT:
        eg__put_int(b, v->integer);
        return true;
    case EG__PICKLE_FLOAT:
        put_float(b, v->real);
        return true;
    case EG__PICKLE_TEXT:
        eg__put(b, p->s + v->text, v->count);
        return eg__pickle_clean(p, v);
    case EG__PICKLE_GLOBAL:
        eg__put_word(b, "torch.");
        eg__put_word(b, eg__torch_word(v->integer));
        return true;
    default:
        return false;
    }
}

/* A device's text is of its arguments: "cuda:0". */
static bool put_value(eg__buffer *b, const eg__pickle *p, const eg__pickle_value *v)
{
    if (v->kind != EG__PICKLE_OBJECT || v->type != EG__TORCH_DEVICE) {
        return put_plain(b, p, v);
    }
    const eg__pickle_value *arguments = &p->value[v->integer];
    bool there = arguments->count > 0 && arguments->count < 3;
    for (uint32_t i = 0; i < arguments->count && there; i++) {
        eg__put(b, ":", i > 0);
        there = put_plain(b, p, &p->value[arguments->item[i]]);
    }
    return there;
}

static eg_status name_text(walk *w, const eg__pickle_value *v, int depth)
{
    eg__buffer b = {0};
    const int64_t bytes = (int64_t)w->length + 64 + (v->kind == EG__PICKLE_TEXT ? v->count : 0);
    eg_status st = eg__pickle_takes(w->p, bytes);
    if (!st && put_value(&b, w->p, v)) {
        eg__put(&b, "", 1);
        st = b.full ? eg__no_memory(w->p->source->op, bytes)
                    : eg_tensors_set_text(w->map, depth ? w->name : "value", b.s);
    }
    eg__buffer_free(&b);
    return st;
}

/* ---- names ---------------------------------------------------------------------------------------- */

static eg_status leave_out(walk *w, const char *why)
{
    eg_status st = eg__pickle_takes(w->p, (int64_t)(w->length + strlen(why) + 64));
    return st ? st : eg__lazy_left_out(w->map, w->name, why);
}

/* Lengthens the name by a key or a number of a list's, at a depth; *named false: nothing can have that name. */
static eg_status lengthen(walk *w, const eg__pickle_value *key, uint32_t number, int depth, bool *named)
{
    eg__buffer b = {0};
    eg__put(&b, ".", depth > 0);
    *named = true;
    bool plain = true;
    if (key) {
        plain = key->kind < EG__PICKLE_BYTES && put_plain(&b, w->p, key);
    } else {
        eg__put_int(&b, number);
    }
    eg_status st = EG_OK;
    if (b.full) {
        st = eg__no_memory(w->p->source->op, b.n);
    } else if (!plain) {
        *named = false;
        st = leave_out(w, "an item whose key is neither UTF-8 nor a number");
    } else if (b.n > MOST_NAME - w->length) {
        st = BAD(w, "a name of more than %d bytes, \"%.60s...\"", MOST_NAME, w->name);
    } else {
        memcpy(w->name + w->length, b.n ? b.s : "", b.n); /* an empty key has no buffer */
        w->length += b.n;
        w->name[w->length] = 0;
    }
    eg__buffer_free(&b);
    return st;
}

static eg_status name_tensor(walk *w, int64_t i, int depth)
{
    const char *name = depth ? w->name : "tensor";
    eg_status st = eg__pickle_takes(w->p, (int64_t)(w->length + sizeof(eg_tensor_about) + 64));
    st = st ? st : eg__lazy_promise(w->map, name, &w->torch->tensor[i].about, i);
    return st == EG_EINDEX ? BAD(w, "two tensors are named \"%.80s\"", name) : st;
}

static eg_status name_value(walk *w, uint32_t number, int depth);

static eg_status name_items(walk *w, uint32_t number, int depth)
{
    const eg__pickle_value *v = &w->p->value[number];
    const size_t length = w->length;
    const bool dict = v->kind == EG__PICKLE_DICT;
    eg_status st = v->open               ? BAD(w, "\"%.80s\" holds itself", w->name)
                   : depth == MOST_DEPTH ? BAD(w, "\"%.80s\" is %d deep", w->name, MOST_DEPTH)
                                         : EG_OK;
    if (st) {
        return st;
    }
    w->p->value[number].open = true;
    for (uint32_t i = 0; i < v->count && !st; i += 1 + dict) {
        bool named;
        st = lengthen(w, dict ? &w->p->value[v->item[i]] : NULL, i, depth, &named);
        st = st || !named ? st : name_value(w, v->item[i + dict], depth + 1);
        w->length = length;
        w->name[length] = 0;
    }
    w->p->value[number].open = false;
    return st;
}

static eg_status name_value(walk *w, uint32_t number, int depth)
{
    const eg__pickle_value *v = &w->p->value[number];
    if (w->left-- == 0) {
        return BAD(w, "more names than the pickle has bytes");
    }
    if (eg__pickle_holds(v)) {
        return name_items(w, number, depth);
    }
    if (v->kind == EG__PICKLE_OBJECT && v->type == EG__TORCH_TENSOR) {
        return name_tensor(w, v->integer, depth);
    }
    if (v->kind == EG__PICKLE_OBJECT && (v->type == EG__TORCH_STORAGE || v->type == EG__TORCH_OPAQUE)) {
        const char *why = v->type == EG__TORCH_STORAGE ? "a storage without a tensor" : w->torch->why[v->integer].words;
        return depth ? leave_out(w, why) : BAD(w, "the file is %s", why);
    }
    return name_text(w, v, depth);
}

eg_status eg__torch_name_all(const eg__torch *t, eg__pickle *p, eg_tensors *map)
{
    walk w = {.torch = t, .p = p, .map = map, .left = p->at};
    return name_value(&w, p->root, 0);
}
