/* rooms.h - of attention, for an element type T: the memory of a thread, and units one after the other. */

/* Bytes of a thread's memory, which is at `at`. */
static int64_t FN(room_at)(const job *j, char *at, FN(room) * r)
{
    const int64_t d = (j->g.d + LANES - 1) / LANES * LANES, v = (j->g.v + LANES - 1) / LANES * LANES;
    const int64_t back = j->dy.p != NULL, planes = j->mask.p || j->o->dropout > 0, lead = j->height;
    const int64_t all = back ? j->g.t + QUERIES : 0, dq = back && j->splits == 1 ? j->g.t * d : 0;
    const int64_t both = eg__max(d, v), numbers = j->tiles ? 16 : 0; /* of a cache line */
    const int64_t halves = j->tiles * KEYS * d / 2, words = j->tiles * lead * d / 2, pairs = j->tiles * lead * KEYS / 2;
    const struct {
        T **to;
        int64_t n;
    } all_of[] = {
        {&r->turned, both * lead},
        {&r->q, d * lead},
        {&r->k, KEYS * d},
        {&r->v, KEYS * v},
        {&r->x, KEYS * lead},
        {&r->lines, planes * lead * LINE},
        {&r->plane, planes * lead * LINE},
        {&r->y, back ? 0 : lead * v},
        {&r->top, QUERIES},
        {&r->sum, QUERIES},
        {&r->scale, QUERIES},
        {&r->turned_dy, back * v * lead},
        {&r->dy, (back || j->tiles) * v * lead},
        {&r->dx, back * KEYS * lead},
        {&r->slope, j->o->softcap > 0 ? back * KEYS * lead : 0},
        {&r->dk, back * KEYS * d},
        {&r->dv, back * KEYS * v},
        {&r->dq, dq},
        {&r->stat, all},
        {&r->delta, all},
        {&r->tiles, numbers + halves + words + pairs + j->tiles * v * j->keys_padded / 2},
    };
    int64_t bytes = 0;
    for (int i = 0; i < EG__COUNT(all_of); i++) {
        *all_of[i].to = at ? (T *)(at + bytes) : NULL;
        bytes += (all_of[i].n * (int64_t)sizeof(T) + 63) / 64 * 64;
    }
    if (at && j->tiles) {
        r->taken = (const char **)r->tiles;
        r->halves = (uint16_t *)(r->tiles + numbers);
        r->words = (uint32_t *)(r->tiles + numbers + halves);
        r->pairs = (uint32_t *)(r->tiles + numbers + halves + words);
        r->values = (uint16_t *)(r->tiles + numbers + halves + words + pairs);
        *r->taken = NULL;
    }
    return bytes;
}

static void FN(parts)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t part = begin; part < end; part++) {
        FN(room) r;
        FN(room_at)(j, j->rooms + part * j->room, &r);
        for (int64_t u = j->units * part / j->parts; u < j->units * (part + 1) / j->parts; u++) {
            if (j->dy.p) {
                FN(backward)(j, u, &r);
            } else {
                FN(forward)(j, u, &r);
            }
        }
    }
}

/* What a part of the keys leaves. */
static int64_t FN(part)(const job *j)
{
    const int64_t d = (j->g.d + LANES - 1) / LANES * LANES, v = (j->g.v + LANES - 1) / LANES * LANES;
    const int64_t n = j->dy.p ? j->g.t * d : j->height * v + 2 * QUERIES;
    return (n * (int64_t)sizeof(T) + 63) / 64 * 64;
}
