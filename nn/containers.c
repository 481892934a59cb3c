/* containers.c - modules without parameters of their own: sequences, activations, flatten, dropout. */
#include "lib/optable.h"
#include "nn/nn.h"

/* ---- sequential ---------------------------------------------------------------------------- */

typedef struct sequential {
    eg_module base;
    int count;
    eg_module *child[];
} sequential;

/* Each result lives until the next one is made, so that two are held at a time and not all. */
static eg_tensor *sequential_forward(eg_module *m, eg_tensor *x)
{
    sequential *q = (sequential *)m;
    eg_tensor *y = x;
    for (int i = 0; i < q->count && y; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *next = s.depth ? eg_keep(eg_module_forward(q->child[i], y)) : NULL;
        eg_scope_pop(s, NULL);
        if (i) {
            eg_release(y);
        }
        y = next;
    }
    if (!y || !q->count) {
        return y;
    }
    eg_tensor *result = eg_scope_adopt(y);
    if (!result) {
        eg_release(y);
    }
    return result;
}

static void sequential_members(eg_module *m, eg_members *members)
{
    sequential *q = (sequential *)m;
    for (int i = 0; i < q->count; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        eg_member_child(members, name, &q->child[i]);
    }
}

static const eg_module_kind sequential_kind = {.size = sizeof(eg_module_kind), .name = "sequential",
                                               .forward = sequential_forward,
                                               .members = sequential_members};

/* What a failed constructor was given belonged to it. */
static void free_given(eg_module *const *modules, int count)
{
    for (int i = 0; i < count; i++) {
        bool seen = !modules[i];
        for (int j = 0; j < i && !seen; j++) {
            seen = modules[j] == modules[i];
        }
        if (!seen && !modules[i]->parent) {
            eg_module_free(modules[i]);
        }
    }
}

eg_module *eg_sequential_new_with(eg_module *const *modules, int count)
{
    if (count < 0 || (count && !modules)) {
        return eg__fail_null(EG_EINVAL, "sequential", "%d modules at %p", count, (const void *)modules);
    }
    sequential *q = eg_module_new(sizeof *q + (size_t)count * sizeof *modules, &sequential_kind);
    if (!q) {
        free_given(modules, count);
        return NULL;
    }
    q->count = count;
    if (count) {
        memcpy(q->child, modules, (size_t)count * sizeof *modules);
    }
    return eg_module_finish(&q->base);
}

/* ---- activation ---------------------------------------------------------------------------- */

typedef struct activation {
    eg_module base;
    eg_tensor *(*function)(eg_tensor *x);
} activation;

static eg_tensor *activation_forward(eg_module *m, eg_tensor *x)
{
    return ((activation *)m)->function(x);
}

static const eg_module_kind activation_kind = {.size = sizeof(eg_module_kind), .name = "activation",
                                               .forward = activation_forward};

eg_module *eg_activation_new(eg_tensor *(*function)(eg_tensor *x))
{
    if (!function) {
        return eg__null_argument("activation", "function"), NULL;
    }
    activation *a = eg_module_new(sizeof *a, &activation_kind);
    if (a) {
        a->function = function;
    }
    return a ? &a->base : NULL;
}

/* ---- flatten ------------------------------------------------------------------------------- */

static eg_tensor *flatten_forward(eg_module *m, eg_tensor *x)
{
    (void)m;
    return eg_flatten(x, 1, -1);
}

static const eg_module_kind flatten_kind = {.size = sizeof(eg_module_kind), .name = "flatten",
                                            .forward = flatten_forward};

eg_module *eg_flatten_new(void)
{
    return eg_module_new(sizeof(eg_module), &flatten_kind);
}

/* ---- dropout ------------------------------------------------------------------------------- */

typedef struct dropout {
    eg_module base;
    double p;
} dropout;

static eg_tensor *dropout_forward(eg_module *m, eg_tensor *x)
{
    return eg_dropout(x, ((dropout *)m)->p, m->training);
}

static const eg_module_kind dropout_kind = {.size = sizeof(eg_module_kind), .name = "dropout",
                                            .forward = dropout_forward};

eg_module *eg_dropout_new(double p)
{
    if (!(p >= 0 && p <= 1)) {
        return eg__fail_null(EG_EINVAL, "dropout", "p is %g, must be 0..1", p);
    }
    dropout *d = eg_module_new(sizeof *d, &dropout_kind);
    if (d) {
        d->p = p;
    }
    return d ? &d->base : NULL;
}
