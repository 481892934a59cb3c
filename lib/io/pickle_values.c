/* pickle_values.c - the values of a pickle, and the memory they take. */
#include <stdlib.h>

#include "lib/io/pickle.h"
#include "lib/core/counted.h"

eg_status eg__pickle_takes(eg__pickle *p, int64_t bytes)
{
    return __builtin_add_overflow(p->bytes, bytes, &p->bytes)
               ? eg__pickle_bad(p, "the pickle's values need more bytes than can be counted")
               : eg__source_unpacks(p->source, p->place + p->at, "the pickle's values need", p->bytes);
}

eg_status eg__pickle_new(eg__pickle *p, eg__pickle_kind kind, uint32_t *number)
{
    eg_status st = p->count == EG__PICKLE_MOST ? eg__pickle_bad(p, "more than %d values", EG__PICKLE_MOST)
                                               : eg__pickle_takes(p, (int64_t)sizeof *p->value);
    if (!st && p->count == p->cvalue && !eg__counted_grow(&p->value, &p->cvalue, sizeof *p->value)) {
        st = eg__no_memory(p->source->op, (int64_t)sizeof *p->value);
    }
    if (!st) {
        p->value[ *number = p->count++] = (eg__pickle_value){.kind = (uint8_t)kind};
    }
    return st;
}

eg_status eg__pickle_add(eg__pickle *p, uint32_t to, const uint32_t *item, uint32_t n)
{
    eg__pickle_value *v = &p->value[to];
    const uint64_t all = (uint64_t)v->count + n;
    if (all > v->capacity) {
        const uint64_t room = v->kind == EG__PICKLE_TUPLE ? all : all < 2 ? 2 : all + all / 2;
        eg_status st = room > EG__PICKLE_MOST ? eg__pickle_bad(p, "a value has %llu others", (unsigned long long)all)
                                              : eg__pickle_takes(p, (int64_t)((room - v->capacity) * sizeof *v->item));
        if (st) {
            return st;
        }
        uint32_t *grown = eg__counted_realloc(v->item, v->count * sizeof *grown, room * sizeof *grown);
        if (!grown) {
            return eg__no_memory(p->source->op, (int64_t)(room * sizeof *grown));
        }
        v->item = grown;
        v->capacity = (uint32_t)room;
    }
    if (n) {
        memcpy(v->item + v->count, item, n * sizeof *item);
    }
    v->count = (uint32_t)all;
    return EG_OK;
}

const eg__pickle_value *eg__pickle_item(const eg__pickle *p, const eg__pickle_value *v, uint32_t i,
                                        eg__pickle_kind kind)
{
    return eg__pickle_holds(v) && i < v->count && p->value[v->item[i]].kind == kind ? &p->value[v->item[i]] : NULL;
}

bool eg__pickle_is(const eg__pickle *p, const eg__pickle_value *v, const char *text)
{
    return v->count == strlen(text) && !memcmp(p->s + v->text, text, v->count);
}

bool eg__pickle_clean(const eg__pickle *p, const eg__pickle_value *v)
{
    const char *s = p->s + v->text;
    int64_t left = v->count;
    for (int n = 0; left; s += n, left -= n) {
        n = *s ? eg__utf8_length(s, left) : 0;
        if (!n) {
            return false;
        }
    }
    return true;
}

void eg__pickle_close(eg__pickle *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (eg__pickle_holds(&p->value[i])) {
            eg__counted_free(p->value[i].item);
        }
    }
    eg__counted_free(p->value);
    eg__counted_free(p->stack);
    eg__counted_free(p->mark);
    eg__counted_free(p->memo);
    eg__counted_free(p->s);
    *p = (eg__pickle){0};
}
