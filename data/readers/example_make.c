/* example_make.c - building Example and SequenceExample messages. */
#include <stdlib.h>

#include "data/readers/bytes.h"
#include "lib/core/device.h"
#include "lib/core/live.h"
#include "data/readers/example.h"

#ifdef EG_HAVE_PROTOBUF

/* A feature, or a list of them. */
typedef struct named {
    char *name;
    EgPb__Values **step;
    uint32_t n, capacity;
} named;

typedef struct table {
    named *entry;
    uint32_t n, capacity;
} table;

struct eg_example {
    table features, lists;
};

/* ---- values --------------------------------------------------------------------------------- */

/* One block: the message, the list in it, and what that holds. */
typedef struct block {
    EgPb__Values values;
    union {
        EgPb__Strings strings;
        EgPb__Reals reals;
        EgPb__Integers integers;
    } list;
    ProtobufCBinaryData string;
    int64_t data[];
} block;

static block *make_block(const char *op, size_t bytes)
{
    block *b = bytes <= (size_t)INT64_MAX - sizeof *b ? eg__malloc(sizeof *b + bytes) : NULL;
    if (!b) {
        return eg__no_memory(op, bytes < (size_t)INT64_MAX ? (int64_t)bytes : INT64_MAX), NULL;
    }
    eg_pb__values__init(&b->values);
    return b;
}

static EgPb__Values *one_string(const char *op, const void *data, size_t bytes)
{
    block *b = make_block(op, bytes);
    if (!b) {
        return NULL;
    }
    if (bytes) {
        memcpy(b->data, data, bytes);
    }
    b->string = (ProtobufCBinaryData){bytes, (uint8_t *)b->data};
    eg_pb__strings__init(&b->list.strings);
    b->list.strings.n_value = 1;
    b->list.strings.value = &b->string;
    b->values.kind_case = EG_PB__VALUES__KIND_STRINGS;
    b->values.strings = &b->list.strings;
    return &b->values;
}

/* x is row-major. */
static EgPb__Values *numbers(const char *op, const eg_tensor *x)
{
    block *b = make_block(op, (size_t)x->n * 8);
    if (!b) {
        return NULL;
    }
    if (eg__is_float(x->dtype)) {
        float *to = (float *)b->data;
        for (int64_t i = 0; i < x->n; i++) {
            to[i] = (float)eg__load(eg__ptr(x), x->dtype, i);
        }
        eg_pb__reals__init(&b->list.reals);
        b->list.reals.n_value = (size_t)x->n;
        b->list.reals.value = to;
        b->values.kind_case = EG_PB__VALUES__KIND_REALS;
        b->values.reals = &b->list.reals;
        return &b->values;
    }
    for (int64_t i = 0; i < x->n; i++) {
        b->data[i] = eg__load_int(eg__ptr(x), x->dtype, i);
    }
    eg_pb__integers__init(&b->list.integers);
    b->list.integers.n_value = (size_t)x->n;
    b->list.integers.value = b->data;
    b->values.kind_case = EG_PB__VALUES__KIND_INTEGERS;
    b->values.integers = &b->list.integers;
    return &b->values;
}

static EgPb__Values *from_tensor(const char *op, eg_tensor *x)
{
    if (eg__check(x, op, "values")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *packed = s.depth ? eg_contiguous(eg_detach(x)) : NULL;
    const eg_tensor *dense = packed ? eg__on_host(packed, op) : NULL;
    EgPb__Values *v = NULL;
    if (dense) {
        v = x->dtype == EG_U8 ? one_string(op, eg__ptr(dense), (size_t)dense->n) : numbers(op, dense);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return v;
}

/* ---- tables --------------------------------------------------------------------------------- */

static named *look_up(const table *t, const char *name)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (!strcmp(t->entry[i].name, name)) {
            return &t->entry[i];
        }
    }
    return NULL;
}

static named *add_name(table *t, const char *name)
{
    size_t length = strlen(name) + 1;
    if (t->n == t->capacity && !eg__grow(&t->entry, &t->capacity, sizeof *t->entry)) {
        return NULL;
    }
    char *copy = eg__malloc(length);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, name, length);
    t->entry[t->n] = (named){.name = copy};
    return &t->entry[t->n++];
}

/* Takes v over; appends it to the name's steps. */
static eg_status add(const char *op, table *t, const char *name, EgPb__Values *v)
{
    if (!v) {
        return eg__why();
    }
    named *e = look_up(t, name);
    e = e ? e : add_name(t, name);
    if (!e || (e->n == e->capacity && !eg__grow(&e->step, &e->capacity, sizeof *e->step))) {
        if (e && !e->n) { /* a name without values cannot stay */
            free(e->name);
            t->n--;
        }
        free(v);
        return eg__no_memory(op, (int64_t)sizeof *e);
    }
    e->step[e->n++] = v;
    return EG_OK;
}

static eg_status check(const char *op, const eg_example *e, const char *name)
{
    if (!e || !name) {
        return eg__null_argument(op, e ? "name" : "e");
    }
    return EG_OK;
}

static eg_status check_new(const char *op, const eg_example *e, const char *name)
{
    eg_status st = check(op, e, name);
    if (!st && look_up(&e->features, name)) {
        st = eg__fail(EG_EINVAL, op, "feature \"%.80s\" is there already", name);
    }
    return st;
}

eg_example *eg_example_new(void)
{
    static const char op[] = "eg_example_new";
    if (eg__protobuf_open(op)) {
        return NULL;
    }
    eg_example *e = eg__handle_new(sizeof *e);
    if (!e) {
        return eg__no_memory(op, (int64_t)sizeof *e), NULL;
    }
    return e;
}

static void free_table(table *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        for (uint32_t k = 0; k < t->entry[i].n; k++) {
            free(t->entry[i].step[k]);
        }
        free(t->entry[i].step);
        free(t->entry[i].name);
    }
    free(t->entry);
}

void eg_example_free(eg_example *e)
{
    if (eg__handle_ends(e, "eg_example_free")) {
        free_table(&e->features);
        free_table(&e->lists);
        free(e);
    }
}

eg_status eg_example_set(eg_example *e, const char *name, eg_tensor *values)
{
    static const char op[] = "eg_example_set";
    eg_status st = check_new(op, e, name);
    return st ? st : add(op, &e->features, name, from_tensor(op, values));
}

eg_status eg_example_set_bytes(eg_example *e, const char *name, const void *data, size_t bytes)
{
    static const char op[] = "eg_example_set_bytes";
    eg_status st = check_new(op, e, name);
    if (!st && !data && bytes) {
        st = eg__null_argument(op, "data");
    }
    return st ? st : add(op, &e->features, name, one_string(op, data, bytes));
}

eg_status eg_example_step(eg_example *e, const char *name, eg_tensor *values)
{
    static const char op[] = "eg_example_step";
    eg_status st = check(op, e, name);
    return st ? st : add(op, &e->lists, name, from_tensor(op, values));
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* The messages around the values, all in one block. */
typedef struct frame {
    EgPb__Record record;
    EgPb__SequenceRecord sequence;
    EgPb__Table features;
    EgPb__ListTable lists;
    EgPb__Entry *entry;
    EgPb__ListEntry *list;
    EgPb__Steps *steps;
    EgPb__Entry **entries;
    EgPb__ListEntry **list_entries;
} frame;

static void lay_out(frame *f, const eg_example *e)
{
    eg_pb__table__init(&f->features);
    for (uint32_t i = 0; i < e->features.n; i++) {
        eg_pb__entry__init(&f->entry[i]);
        f->entry[i].key = e->features.entry[i].name;
        f->entry[i].value = e->features.entry[i].step[0];
        f->entries[i] = &f->entry[i];
    }
    f->features.n_entry = e->features.n;
    f->features.entry = f->entries;
    eg_pb__list_table__init(&f->lists);
    for (uint32_t i = 0; i < e->lists.n; i++) {
        eg_pb__steps__init(&f->steps[i]);
        f->steps[i].n_step = e->lists.entry[i].n;
        f->steps[i].step = e->lists.entry[i].step;
        eg_pb__list_entry__init(&f->list[i]);
        f->list[i].key = e->lists.entry[i].name;
        f->list[i].value = &f->steps[i];
        f->list_entries[i] = &f->list[i];
    }
    f->lists.n_entry = e->lists.n;
    f->lists.entry = f->list_entries;
    eg_pb__record__init(&f->record);
    f->record.table = &f->features;
    eg_pb__sequence_record__init(&f->sequence);
    f->sequence.context = e->features.n ? &f->features : NULL;
    f->sequence.lists = &f->lists;
}

static eg_tensor *pack(const frame *f, bool sequence)
{
    const ProtobufCMessage *m = sequence ? &f->sequence.base : &f->record.base;
    size_t bytes = protobuf_c_message_get_packed_size(m);
    eg_tensor *t = eg__empty_on(0, EG_SHAPE((int64_t)bytes), EG_U8);
    if (t && bytes) {
        protobuf_c_message_pack(m, (uint8_t *)eg__ptr(t));
    }
    return t;
}

eg_tensor *eg_example_encode(const eg_example *e)
{
    static const char op[] = "eg_example_encode";
    if (!e) {
        return eg__null_argument(op, "e"), NULL;
    }
    size_t nf = e->features.n, nl = e->lists.n;
    size_t bytes = sizeof(frame) + nf * (sizeof(EgPb__Entry) + sizeof(void *)) +
                   nl * (sizeof(EgPb__ListEntry) + sizeof(EgPb__Steps) + sizeof(void *));
    frame *f = eg__malloc(bytes);
    if (!f) {
        return eg__no_memory(op, (int64_t)bytes), NULL;
    }
    f->entry = (EgPb__Entry *)(f + 1);
    f->list = (EgPb__ListEntry *)(f->entry + nf);
    f->steps = (EgPb__Steps *)(f->list + nl);
    f->entries = (EgPb__Entry **)(f->steps + nl);
    f->list_entries = (EgPb__ListEntry **)(f->entries + nf);
    lay_out(f, e);
    eg_tensor *t = pack(f, nl > 0);
    free(f);
    return t;
}

#else

eg_example *eg_example_new(void)
{
    return eg__fail_null(EG_ENOKERNEL, "eg_example_new", EG__NO_PROTOBUF);
}

void eg_example_free(eg_example *e)
{
    (void)e;
}

eg_status eg_example_set(eg_example *e, const char *name, eg_tensor *values)
{
    (void)e, (void)name, (void)values;
    return eg__fail(EG_ENOKERNEL, "eg_example_set", EG__NO_PROTOBUF);
}

eg_status eg_example_set_bytes(eg_example *e, const char *name, const void *data, size_t bytes)
{
    (void)e, (void)name, (void)data, (void)bytes;
    return eg__fail(EG_ENOKERNEL, "eg_example_set_bytes", EG__NO_PROTOBUF);
}

eg_status eg_example_step(eg_example *e, const char *name, eg_tensor *values)
{
    (void)e, (void)name, (void)values;
    return eg__fail(EG_ENOKERNEL, "eg_example_step", EG__NO_PROTOBUF);
}

eg_tensor *eg_example_encode(const eg_example *e)
{
    (void)e;
    return eg__fail_null(EG_ENOKERNEL, "eg_example_encode", EG__NO_PROTOBUF);
}

#endif
