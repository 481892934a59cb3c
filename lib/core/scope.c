/* scope.c - who owns what an op returns. */
#include <stdlib.h>

#include "lib/core/recorder.h"
#include "lib/core/subsystem.h"

/* ---- what scopes own ------------------------------------------------------------------------ */

enum { MANY_TENSORS = 4096 };

/* Twice the room each time, so that a loop that never frees is told of now and then. */
bool eg__own_grow(eg__thread *T, uint32_t n)
{
    while (T->cown - T->nown < n) {
        if (!eg__grow(&T->own, &T->cown, sizeof *T->own)) {
            return false;
        }
        uint32_t held = T->nown - (T->nscopes ? T->scopes[T->nscopes - 1].own : 0);
        if (held >= MANY_TENSORS) {
            eg__log(EG__DEBUG_SCOPE, T->nscopes ? "eg_scope_push" : "egret",
                    "%s holds %u tensors; in a loop, EG_SCOPE { } around its body frees them",
                    T->nscopes ? "the innermost scope" : "the thread, which has no scope open,", held);
        }
    }
    return true;
}

static void thread_end(eg__thread *T)
{
    while (T->nown) {
        eg__unref(T, T->own[--T->nown]);
    }
    T->nscopes = 0;
    if (T->record->by) {
        T->record->by->end(T);
    }
    free(T->own);
    free(T->scopes);
    T->own = NULL;
    T->scopes = NULL;
    T->cown = T->cscopes = 0;
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_SCOPES, .thread_end = thread_end)

/* ---- scopes -------------------------------------------------------------------------------- */

eg_scope eg_scope_push(void)
{
    eg__thread *T = eg__thread_get();
    if (unlikely(T->nscopes == T->cscopes) && (T->dead || !eg__grow(&T->scopes, &T->cscopes, sizeof *T->scopes))) {
        eg__no_memory("eg_scope_push", 0);
        return (eg_scope){0, 0};
    }
    T->scopes[T->nscopes] = (eg__scope_state){T->nown, ++T->serial, T->autocast};
    return (eg_scope){++T->nscopes, T->serial};
}

static bool valid(const eg__thread *T, eg_scope s)
{
    return likely(s.depth - 1 < T->nscopes && T->scopes[s.depth - 1].serial == s.serial);
}

static EG__COLD void refuse(eg_scope s)
{
    if (s.depth || eg_last_error()->code == EG_OK) {
        eg__fail(EG_ESTATE, "eg_scope_pop", "this scope is not open: it was popped already");
    }
}

eg_tensor *eg_scope_pop(eg_scope s, eg_tensor *result)
{
    eg__thread *T = eg__thread_get();
    if (!valid(T, s)) {
        refuse(s);
        return NULL;
    }
    if (unlikely(T->record->ntapes)) {
        T->record->by->close(T, s.depth);
    }
    uint32_t low = T->scopes[s.depth - 1].own, n = T->nown;
    T->autocast = T->scopes[s.depth - 1].autocast;
    bool moved = result == NULL;
    T->nscopes = s.depth - 1;
    if (result && unlikely(result->magic != EG__MAGIC)) {
        eg__check(result, "eg_scope_pop", "result");
        result = NULL;
        moved = true;
    }
    while (n > low) {
        eg_tensor *t = T->own[--n];
        if (t == result && !moved) {
            moved = true; /* its reference moves out: nothing to count */
            continue;
        }
        eg__unref(T, t);
    }
    T->nown = low;
    if (!moved) { /* owned further out already, or kept: the outer scope becomes one more owner */
        if (!eg__own_room(T, 1)) {
            eg__no_memory("eg_scope_pop", 0);
            return result;
        }
        eg__ref_inc(&result->refs);
    }
    if (result) {
        eg__own(T, result);
    }
    return result;
}

eg_status eg_scope_pop_n(eg_scope s, eg_tensor *const *results, int n)
{
    eg__thread *T = eg__thread_get();
    if (!valid(T, s)) {
        refuse(s);
        return eg__why();
    }
    if (n < 0 || (n && !results)) {
        eg_scope_pop(s, NULL);
        return n < 0 ? eg__fail(EG_EINVAL, "eg_scope_pop_n", "n is %d, must be 0 or more", n)
                     : eg__null_argument("eg_scope_pop_n", "results");
    }
    for (int i = 0; i < n; i++) {
        if (results[i] && eg__check(results[i], "eg_scope_pop_n", "a result")) {
            eg_scope_pop(s, NULL);
            return eg__why();
        }
    }
    if (!eg__own_room(T, (uint32_t)n)) {
        eg_scope_pop(s, NULL);
        return eg__no_memory("eg_scope_pop_n", 0);
    }
    for (int i = 0; i < n; i++) {
        if (results[i]) {
            eg__ref_inc(&results[i]->refs);
        }
    }
    eg_scope_pop(s, NULL);
    for (int i = 0; i < n; i++) {
        if (results[i]) {
            eg__own(T, results[i]);
        }
    }
    return EG_OK;
}

/* ---- keeping ------------------------------------------------------------------------------- */

eg_tensor *eg_keep(eg_tensor *t)
{
    if (!t || eg__check(t, "eg_keep", "t")) {
        return NULL;
    }
    eg__ref_inc(&t->refs);
    atomic_fetch_add_explicit(&t->kept, 1, memory_order_relaxed);
    return t;
}

/* One keep less, or words. */
static eg_status unkeep(eg_tensor *t, const char *op)
{
    eg_status st = eg__check(t, op, "t");
    if (st) {
        return st;
    }
    uint32_t k = atomic_load_explicit(&t->kept, memory_order_relaxed);
    do {
        if (!k) {
            return eg__fail(EG_ESTATE, op, "the tensor was not kept: %s needs an eg_keep", op);
        }
    } while (!atomic_compare_exchange_weak(&t->kept, &k, k - 1));
    return EG_OK;
}

eg_status eg_release(eg_tensor *t)
{
    if (!t) {
        return EG_OK;
    }
    eg_status st = unkeep(t, "eg_release");
    if (!st) {
        eg__unref(eg__thread_get(), t);
    }
    return st;
}

eg_tensor *eg_scope_adopt(eg_tensor *t)
{
    eg__thread *T = eg__thread_get();
    if (!t) {
        return NULL;
    }
    if (!eg__own_room(T, 1)) {
        return eg__no_memory("eg_scope_adopt", 0), NULL;
    }
    if (unkeep(t, "eg_scope_adopt")) {
        return NULL;
    }
    eg__own(T, t);
    return t;
}
