/* torch_values.c - what the globals that PyTorch's pickles call make: storages, tensors, and the few plain values that
 * are written as calls. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/io/torch.h"
#include "lib/core/counted.h"

typedef enum what {
    STORAGE,
    DTYPE,
    TENSOR,          /* storage, offset, size, stride, whatever, whatever, metadata */
    TENSOR_OF_DTYPE, /* the same with a dtype in front of metadata */
    CALL,            /* a function of these, a type, the function's arguments, whatever */
    TYPE,
    DEVICE,
    FIRST,  /* the first argument */
    PAIRS,  /* a dict of pairs, or of none */
    DICT,   /* an empty dict, whatever the arguments */
    ITEMS,  /* a set of a list's items */
    LATIN1, /* bytes, as the text that older protocols have of them */
} what;

static const struct global {
    const char *module, *name;
    what what;
    eg__element element;
} globals[] = {
#define G(module, name, what, element) {module, name, what, element},
#include "lib/io/torch.def"
#undef G
};

/* Modules that have, or had, another name. */
static const char *const aliases[][2] = {{"__builtin__", "builtins"}, {"torch.cuda", "torch"}};

static int find_global(const char *module, const char *name)
{
    for (int i = 0; i < EG__COUNT(aliases); i++) {
        module = strcmp(module, aliases[i][0]) ? module : aliases[i][1];
    }
    for (int i = 0; i < EG__COUNT(globals); i++) {
        if (!strcmp(globals[i].name, name) && !strcmp(globals[i].module, module)) {
            return i;
        }
    }
    return -1;
}

const char *eg__torch_word(int64_t row)
{
    return globals[row].name;
}

static eg_status object(eg__pickle *p, eg__torch_object type, int64_t v, uint32_t *result)
{
    eg_status st = eg__pickle_new(p, EG__PICKLE_OBJECT, result);
    if (!st) {
        p->value[*result].type = (uint8_t)type;
        p->value[*result].integer = v;
    }
    return st;
}

/* ---- what is not read ---------------------------------------------------------------------------- */

static bool is_opaque(const eg__pickle_value *v)
{
    return v->kind == EG__PICKLE_OBJECT && v->type == EG__TORCH_OPAQUE;
}

/* A value that is not read, and why. */
static eg_status opaque(eg__pickle *p, uint32_t *result, const char *format, ...) __attribute__((format(printf, 3, 4)));
static eg_status opaque(eg__pickle *p, uint32_t *result, const char *format, ...)
{
    eg__torch *t = p->world->user;
    eg_status st = eg__pickle_takes(p, (int64_t)sizeof *t->why);
    if (!st && t->nwhy == t->cwhy && !eg__counted_grow(&t->why, &t->cwhy, sizeof *t->why)) {
        st = eg__no_memory(p->source->op, (int64_t)sizeof *t->why);
    }
    if (st) {
        return st;
    }
    va_list ap;
    va_start(ap, format);
    vsnprintf(t->why[t->nwhy].words, sizeof t->why->words, format, ap);
    va_end(ap);
    return object(p, EG__TORCH_OPAQUE, t->nwhy++, result);
}

static eg_status unknown(eg__pickle *p, const char *module, const char *name, uint32_t *result)
{
    return opaque(p, result, "%.60s.%.60s, which is not among the values that are read", module, name);
}

/* The first opaque one of the items of a value; false: there is none. */
static bool find_opaque(const eg__pickle *p, uint32_t number, uint32_t *found)
{
    const eg__pickle_value *v = &p->value[number];
    for (uint32_t i = 0; i < v->count; i++) {
        if (is_opaque(&p->value[v->item[i]])) {
            *found = v->item[i];
            return true;
        }
    }
    return false;
}

/* ---- storages ---------------------------------------------------------------------------------- */

/* ('storage', type, key, where it was, elements), in the older form also what it is a part of. */
static eg_status storage(eg__pickle *p, uint32_t id, uint32_t *result)
{
    eg__torch *t = p->world->user;
    const eg__pickle_value *v = &p->value[id];
    if (eg__pickle_holds(v) && find_opaque(p, id, result)) {
        return EG_OK;
    }
    const eg__pickle_value *tag = eg__pickle_item(p, v, 0, EG__PICKLE_TEXT);
    const eg__pickle_value *type = eg__pickle_item(p, v, 1, EG__PICKLE_GLOBAL);
    const eg__pickle_value *key = eg__pickle_item(p, v, 2, EG__PICKLE_TEXT);
    const eg__pickle_value *count = eg__pickle_item(p, v, 4, EG__PICKLE_INT);
    if (!tag || !eg__pickle_is(p, tag, "storage") || !type || globals[type->integer].what != STORAGE || !key ||
        !count) {
        return eg__pickle_bad(p, "a persistent id that is no storage's");
    }
    if (v->count > 5 && !eg__pickle_item(p, v, 5, EG__PICKLE_NONE)) {
        return eg__pickle_bad(p, "a storage that is a part of another");
    }
    const eg__element e = globals[type->integer].element;
    const int width = e == EG__ELEMENTS ? 1 : eg__element_bits(e) / 8;
    if (count->integer < 0 || count->integer > INT64_MAX / width) {
        return eg__pickle_bad(p, "a storage of %lld elements", (long long)count->integer);
    }
    eg_status st = eg__pickle_takes(p, (int64_t)sizeof *t->storage);
    if (!st && t->nstorages == t->cstorages && !eg__counted_grow(&t->storage, &t->cstorages, sizeof *t->storage)) {
        st = eg__no_memory(p->source->op, (int64_t)sizeof *t->storage);
    }
    if (!st) {
        t->storage[t->nstorages] =
            (eg__torch_storage){.key = v->item[2], .element = e, .bytes = count->integer * width, .at = -1};
        st = object(p, EG__TORCH_STORAGE, t->nstorages++, result);
    }
    return st;
}

/* ---- tensors ----------------------------------------------------------------------------------- */

/* Whole numbers of a tuple's, none negative; their count, or -1. */
static int read_sizes(const eg__pickle *p, const eg__pickle_value *v, int64_t *size)
{
    bool fits = v && v->count <= EG_MAX_DIMS;
    for (uint32_t i = 0; fits && i < v->count; i++) {
        const eg__pickle_value *n = eg__pickle_item(p, v, i, EG__PICKLE_INT);
        fits = n && n->integer >= 0;
        size[i] = fits ? n->integer : 0;
    }
    return fits ? (int)v->count : -1;
}

/* Whether all elements are inside the storage; what is larger than that, because elements are there more than once,
 * may be as large as what is unpacked. */
static eg_status check_place(eg__pickle *p, const eg__torch_tensor *x, const eg__torch_storage *s)
{
    const int64_t width = eg__element_bits(x->element) / 8;
    int64_t last = x->offset;
    bool over = last < 0, none = false;
    for (int d = 0; d < x->shape.ndim; d++) {
        int64_t reach = 0;
        none |= !x->shape.dim[d];
        over |= __builtin_mul_overflow(x->strides[d], eg__max(x->shape.dim[d] - 1, 0), &reach);
        over |= __builtin_add_overflow(last, reach, &last);
    }
    if (!none && (over || last >= s->bytes / width)) {
        return eg__pickle_bad(p, "a tensor %s that leaves its storage of %lld bytes",
                              eg__shape_text(x->shape.ndim, x->shape.dim).s, (long long)s->bytes);
    }
    return x->about.bytes > s->bytes
               ? eg__source_unpacks(p->source, p->place + p->at, "an expanded tensor has", x->about.bytes)
               : EG_OK;
}

/* The row of the dtype that is argument 6, or -1. */
static eg__element element_of(const eg__pickle *p, const eg__pickle_value *arguments)
{
    const eg__pickle_value *v = eg__pickle_item(p, arguments, 6, EG__PICKLE_GLOBAL);
    return v && globals[v->integer].what == DTYPE ? globals[v->integer].element : EG__ELEMENTS;
}

/* Nothing that turns numbers into others, as the bits of lazy conjugation do. */
static bool has_metadata(const eg__pickle *p, const eg__pickle_value *arguments, uint32_t i)
{
    const eg__pickle_value *v = arguments->count > i ? &p->value[arguments->item[i]] : NULL;
    return v && v->kind != EG__PICKLE_NONE && (v->kind != EG__PICKLE_DICT || v->count);
}

static eg_status tensor(eg__pickle *p, uint32_t arguments, bool of_dtype, uint32_t *result)
{
    eg__torch *t = p->world->user;
    if (find_opaque(p, arguments, result)) {
        return EG_OK;
    }
    const eg__pickle_value *v = &p->value[arguments], *s = eg__pickle_item(p, v, 0, EG__PICKLE_OBJECT);
    const eg__pickle_value *offset = eg__pickle_item(p, v, 1, EG__PICKLE_INT);
    eg__torch_tensor x = {0};
    if (!s || s->type != EG__TORCH_STORAGE || !offset) {
        return eg__pickle_bad(p, "a tensor without storage or offset");
    }
    const eg__torch_storage *storage = &t->storage[s->integer];
    x.storage = (uint32_t)s->integer;
    x.element = of_dtype ? element_of(p, v) : storage->element;
    x.offset = offset->integer;
    x.shape.ndim = read_sizes(p, eg__pickle_item(p, v, 2, EG__PICKLE_TUPLE), x.shape.dim);
    const int strides = read_sizes(p, eg__pickle_item(p, v, 3, EG__PICKLE_TUPLE), x.strides);
    if (x.element == EG__ELEMENTS) {
        return eg__pickle_bad(p, "a tensor without a dtype");
    }
    const eg__pickle_value *sizes = eg__pickle_item(p, v, 2, EG__PICKLE_TUPLE);
    if (sizes && sizes->count > EG_MAX_DIMS) {
        return opaque(p, result, "a tensor of more than %d axes", EG_MAX_DIMS);
    }
    if (x.shape.ndim < 0 || strides != x.shape.ndim ||
        eg__element_about(p->source->op, x.element, &x.shape, &x.about)) {
        return eg__pickle_bad(p, "sizes and strides of a tensor that cannot be, or of more than %d axes", EG_MAX_DIMS);
    }
    if (has_metadata(p, v, of_dtype ? 7 : 6)) {
        return opaque(p, result, "a tensor that is to be conjugated or negated");
    }
    eg_status st = check_place(p, &x, storage);
    st = st ? st : eg__pickle_takes(p, (int64_t)sizeof x);
    if (!st && t->ntensors == t->ctensors && !eg__counted_grow(&t->tensor, &t->ctensors, sizeof x)) {
        st = eg__no_memory(p->source->op, (int64_t)sizeof x);
    }
    if (!st) {
        t->tensor[t->ntensors] = x;
        st = object(p, EG__TORCH_TENSOR, t->ntensors++, result);
    }
    return st;
}

/* ---- plain values -------------------------------------------------------------------------------- */

/* A dict of a list of pairs, or of nothing. */
static eg_status pairs(eg__pickle *p, uint32_t arguments, uint32_t *result)
{
    eg_status st = eg__pickle_new(p, EG__PICKLE_DICT, result);
    const eg__pickle_value *list = eg__pickle_item(p, &p->value[arguments], 0, EG__PICKLE_LIST);
    if (!st && !list && p->value[arguments].count) {
        st = eg__pickle_bad(p, "a dict of what is no list of pairs");
    }
    for (uint32_t i = 0; !st && list && i < list->count; i++) {
        const eg__pickle_value *pair = &p->value[list->item[i]];
        const bool is = (pair->kind == EG__PICKLE_LIST || pair->kind == EG__PICKLE_TUPLE) && pair->count == 2;
        st = is ? eg__pickle_add(p, *result, pair->item, 2) : eg__pickle_bad(p, "a dict of what is no pair");
    }
    return st;
}

static eg_status items(eg__pickle *p, uint32_t arguments, uint32_t *result)
{
    eg_status st = eg__pickle_new(p, EG__PICKLE_SET, result);
    const eg__pickle_value *list = eg__pickle_item(p, &p->value[arguments], 0, EG__PICKLE_LIST);
    if (!st && !list && p->value[arguments].count) {
        st = eg__pickle_bad(p, "a set of what is no list");
    }
    return !st && list ? eg__pickle_add(p, *result, list->item, list->count) : st;
}

static eg_status latin1(eg__pickle *p, uint32_t arguments, uint32_t *result)
{
    const eg__pickle_value *v = eg__pickle_item(p, &p->value[arguments], 0, EG__PICKLE_TEXT);
    if (!v) {
        return eg__pickle_bad(p, "bytes of what is no text");
    }
    const eg__pickle_value text = *v;
    eg_status st = eg__pickle_new(p, EG__PICKLE_BYTES, result);
    if (!st) {
        p->value[*result].text = text.text;
        p->value[*result].count = text.count;
    }
    return st;
}

static eg_status call(eg__pickle *p, int64_t row, uint32_t arguments, uint32_t *result)
{
    const eg__pickle_value *v = &p->value[arguments];
    if (globals[row].what != DICT && globals[row].what != FIRST && find_opaque(p, arguments, result)) {
        return EG_OK;
    }
    if (globals[row].what == CALL) {
        const eg__pickle_value *f = eg__pickle_item(p, v, 0, EG__PICKLE_GLOBAL);
        const eg__pickle_value *type = eg__pickle_item(p, v, 1, EG__PICKLE_GLOBAL);
        if (!f || globals[f->integer].what == CALL || !type || globals[type->integer].what != TYPE ||
            !eg__pickle_item(p, v, 2, EG__PICKLE_TUPLE)) {
            return opaque(p, result, "a tensor of a class of its own");
        }
        row = f->integer;
        arguments = v->item[2];
        v = &p->value[arguments];
    }
    switch (globals[row].what) {
    case TENSOR:
    case TENSOR_OF_DTYPE:
        return tensor(p, arguments, globals[row].what == TENSOR_OF_DTYPE, result);
    case FIRST:
        if (!v->count) {
            return eg__pickle_bad(p, "a call of torch's %s without arguments", globals[row].name);
        }
        *result = v->item[0];
        return EG_OK;
    case DEVICE:
        return object(p, EG__TORCH_DEVICE, arguments, result);
    case PAIRS:
        return pairs(p, arguments, result);
    case DICT:
        return eg__pickle_new(p, EG__PICKLE_DICT, result);
    case ITEMS:
        return items(p, arguments, result);
    case LATIN1:
        return latin1(p, arguments, result);
    default:
        return eg__pickle_bad(p, "%s.%s is called, which is not read", globals[row].module, globals[row].name);
    }
}

eg_status eg__torch_pickle(eg__torch *t, eg__pickle *p, const eg__source *s, int64_t place, int64_t size)
{
    const eg__pickle_world world = {find_global, unknown, is_opaque, call, storage, t};
    eg_status st = eg__pickle_open(p, s, place, size, &world);
    p->world = NULL;
    return st;
}
