/* options.c - option structs at random, by the tables of their fields. */
#include "tests/differ/differ.h"

options_table *differ_tables;

void differ_add_table(options_table *t)
{
    t->next = differ_tables;
    differ_tables = t;
}

static const struct {
    activation f;
    const char *name;
} activations[] = {
    {NULL, "NULL"},       {eg_relu, "eg_relu"},           {eg_tanh, "eg_tanh"}, {eg_sigmoid, "eg_sigmoid"},
    {eg_gelu, "eg_gelu"}, {eg_gelu_tanh, "eg_gelu_tanh"}, {eg_silu, "eg_silu"}, {eg_sin, "eg_sin"}};

/* Not with a half's digits: ReLU, first, since what is near 0 has either slope, and the sine, last, which of large
 * numbers is anything. */
activation draw_activation(draw *d, eg_dtype t)
{
    const int half = t == EG_F16 || t == EG_BF16;
    int most = (int)(sizeof activations / sizeof *activations) - 1 - half;
    return chance(d, 50) ? NULL : activations[pick(d, 1 + half, most)].f;
}

void without_ties(draw *d, activation f)
{
    for (int i = 0; i < d->n && f == eg_relu; i++) {
        spec *s = &d->t[i];
        s->values = s->values == TIES || s->values == WHOLE ? UNIFORM : s->values;
    }
}

const char *activation_name(activation f)
{
    int i = 0;
    while (activations[i].f != f) {
        i++;
    }
    return activations[i].name;
}

static void store(void *at, field_kind kind, double v)
{
    switch (kind) {
    case F_INT:
        *(int64_t *)at = (int64_t)v;
        break;
    case F_INT32:
        *(int *)at = (int)v;
        break;
    case F_BOOL:
        *(bool *)at = v != 0;
        break;
    case F_DOUBLE:
        *(double *)at = v;
        break;
    default:
        break;
    }
}

void *draw_options(draw *d, const options_table *table)
{
    bool plain = chance(d, 8);
    memset(d->options, 0, sizeof d->options);
    *(size_t *)(void *)d->options = table->bytes;
    d->table = table;
    d->no_options = plain && chance(d, 50);
    for (int f = 0; f < table->count && !plain; f++) {
        const field *v = &table->fields[f];
        for (size_t at = 0; at < v->bytes; at += v->element) {
            store(d->options + v->offset + at, v->kind, v->choices[pick(d, 0, v->nchoices - 1)]);
        }
    }
    return d->options;
}
