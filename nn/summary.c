/* summary.c - a module as a table: what is in it, what comes out where, what it costs. */
#include <stdlib.h>

#include "lib/ops/dispatch.h"
#include "nn/nn.h"

typedef struct row {
    eg_module *m;
    char *name;
    int depth;
    int64_t learning, frozen, macs;
    int ndim; /* of the output; -1: not reached */
    int64_t shape[EG_MAX_DIMS];
} row;

typedef struct summary {
    eg_members walk;
    row *rows;
    uint32_t count, room;
    int depth;
    eg_status status;
} summary;

/* ---- looking on ------------------------------------------------------------------------------ */

static void saw(void *user, eg_module *m, eg_tensor *y, int64_t macs)
{
    summary *s = user;
    for (uint32_t i = 0; y && i < s->count; i++) {
        row *r = &s->rows[i];
        if (r->m == m) {
            r->macs += macs;
            r->ndim = y->ndim;
            memcpy(r->shape, y->shape, sizeof r->shape);
        }
    }
}

/* ---- the rows -------------------------------------------------------------------------------- */

static row *add_row(summary *s, eg_module *m, const char *name)
{
    if (s->count == s->room && !eg__grow(&s->rows, &s->room, sizeof *s->rows)) {
        return NULL;
    }
    char *copy = eg__malloc(strlen(name) + 1);
    if (!copy) {
        return NULL;
    }
    row *r = &s->rows[s->count++];
    *r = (row){.m = m, .name = strcpy(copy, name), .depth = s->depth, .ndim = -1};
    return r;
}

static void visit(eg_members *walk, const eg__member *member)
{
    summary *s = (summary *)walk;
    if (s->status) {
        return;
    }
    if (member->kind == EG__CHILD) {
        s->depth++;
        if (!add_row(s, *member->child, member->name)) {
            s->status = eg__no_memory("eg_summary", 0);
        } else {
            eg__members(*member->child, walk);
        }
        s->depth--;
    } else if (member->kind == EG__PARAMETER) {
        /* Counted for the module it belongs to and for all those above it. */
        int depth = s->depth + 1;
        for (uint32_t i = s->count; i-- > 0 && depth > 0;) {
            row *r = &s->rows[i];
            if (r->depth < depth) {
                depth = r->depth;
                *(eg_is_parameter(*member->tensor) ? &r->learning : &r->frozen) += (*member->tensor)->n;
            }
        }
    }
}

/* ---- the forward ----------------------------------------------------------------------------- */

/* In eval mode, whose modes come back as they were. */
static eg_status look(summary *s, eg_module *m, eg_tensor *x)
{
    eg__thread *T = eg__thread_get();
    bool *training = eg__malloc(s->count);
    if (!training) {
        return eg__no_memory("eg_summary", s->count);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        training[i] = s->rows[i].m->training;
        s->rows[i].m->training = false;
    }
    eg_scope scope = eg_scope_push();
    eg__observer observer = {.saw = saw, .user = s};
    eg__observer_add(&observer);
    atomic_fetch_or(&T->mode, EG__MODE_MACS);
    eg_status st = scope.depth && eg_module_forward(m, x) ? EG_OK : eg__why();
    atomic_fetch_and(&T->mode, ~(uint32_t)EG__MODE_MACS);
    eg__observer_remove(&observer);
    eg_scope_pop(scope, NULL);
    for (uint32_t i = 0; i < s->count; i++) {
        s->rows[i].m->training = training[i];
    }
    free(training);
    return st;
}

/* ---- printing -------------------------------------------------------------------------------- */

typedef struct words {
    char s[32];
} words;

/* 1234567 as 1,234,567. */
static words grouped(int64_t v)
{
    words w = {""};
    char plain[24];
    int n = snprintf(plain, sizeof plain, "%lld", (long long)v), k = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) {
            w.s[k++] = ',';
        }
        w.s[k++] = plain[i];
    }
    w.s[k] = 0;
    return w;
}

static words scaled(int64_t v)
{
    static const char *const unit[] = {"", " K", " M", " G", " T", " P"};
    words w;
    double d = (double)v;
    int u = 0;
    for (; d >= 999.5 && u < EG__COUNT(unit) - 1; u++) {
        d /= 1000;
    }
    snprintf(w.s, sizeof w.s, u ? "%.3g%s" : "%.0f%s", d, unit[u]);
    return w;
}

static void print(FILE *out, const summary *s)
{
    int first = (int)strlen("module"), second = (int)strlen("output");
    for (uint32_t i = 0; i < s->count; i++) {
        const row *r = &s->rows[i];
        int n = 2 * r->depth + (int)strlen(r->name) + 1 + (int)strlen(r->m->kind->name);
        int m = r->ndim < 0 ? 1 : (int)strlen(eg__shape_text(r->ndim, r->shape).s);
        first = n > first ? n : first;
        second = m > second ? m : second;
    }
    fprintf(out, "%-*s  %-*s  %13s  %13s\n", first, "module", second, "output", "parameters", "multiply-adds");
    for (uint32_t i = 0; i < s->count; i++) {
        const row *r = &s->rows[i];
        int at = fprintf(out, "%*s%s%s%s", 2 * r->depth, "", r->name, *r->name ? " " : "", r->m->kind->name);
        fprintf(out, "%*s  %-*s  %13s  %13s\n", first > at ? first - at : 0, "", second,
                r->ndim < 0 ? "-" : eg__shape_text(r->ndim, r->shape).s, grouped(r->learning + r->frozen).s,
                scaled(r->macs).s);
    }
    fprintf(out, "%s parameters learn, %s are frozen\n", grouped(s->rows[0].learning).s, grouped(s->rows[0].frozen).s);
}

eg_status eg_summary(FILE *stream, eg_module *m, eg_tensor *x)
{
    static const char op[] = "eg_summary";
    if (!stream || !m) {
        return eg__null_argument(op, stream ? "m" : "stream");
    }
    if (eg__check(x, op, "x")) {
        return eg__why();
    }
    summary s = {.walk = {visit, 0}};
    if (!add_row(&s, m, "")) {
        s.status = eg__no_memory(op, 0);
    } else {
        eg_status all = eg__walk_members(m, &s.walk, op);
        s.status = s.status ? s.status : all;
    }
    eg_status st = s.status ? s.status : look(&s, m, x);
    if (!st) {
        print(stream, &s);
        st = ferror(stream) ? eg__fail(EG_EIO, op, "the stream refused the table") : EG_OK;
    }
    while (s.count) {
        free(s.rows[--s.count].name);
    }
    free(s.rows);
    return st;
}
