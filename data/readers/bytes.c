/* bytes.c - memory that grows at its end. */
#include "data/readers/bytes.h"

#include "lib/core/counted.h"

bool eg__bytes_room(eg__bytes *b, int64_t more)
{
    if (more <= b->room - b->n) {
        return true;
    }
    if (more > INT64_MAX / 4 - b->n) {
        return false;
    }
    int64_t room = eg__max(b->n + more, 2 * b->room);
    uint8_t *p = eg__counted_alloc((size_t)room);
    if (!p) {
        return false;
    }
    if (b->n) {
        memcpy(p, b->p, (size_t)b->n);
    }
    eg__counted_free(b->p);
    b->p = p;
    b->room = room;
    return true;
}

bool eg__bytes_add(eg__bytes *b, const void *data, int64_t n)
{
    if (!eg__bytes_room(b, n)) {
        return false;
    }
    if (n) {
        memcpy(b->p + b->n, data, (size_t)n);
    }
    b->n += n;
    return true;
}

void eg__bytes_free(eg__bytes *b)
{
    eg__counted_free(b->p);
    *b = (eg__bytes){0};
}

eg_tensor *eg__bytes_tensor(const void *data, int64_t n)
{
    eg_tensor *t = eg__empty_on(0, EG_SHAPE(n), EG_U8);
    if (t && n) {
        memcpy(eg__ptr(t), data, (size_t)n);
    }
    return t;
}
