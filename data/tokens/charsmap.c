/* charsmap.c - rules of SentencePiece's normalisers: a double array (S. Yata's darts-clone) of what is replaced, and
 * texts ended by 0 that replace it. */
#include <stdlib.h>

#include "data/tokens/tokens.h"

struct eg__charsmap {
    uint32_t *unit;
    const uint8_t *text;
    int64_t units, bytes; /* of the texts, the last of which ends with a 0 */
    uint8_t data[];
};

eg__charsmap *eg__charsmap_new(const char *op, const void *data, int64_t bytes)
{
    const uint8_t *s = data;
    const int64_t size = bytes >= 4 ? (int64_t)(s[0] | s[1] << 8 | s[2] << 16 | (uint32_t)s[3] << 24) : -1;
    if (size < 4 || size % 4 || size > bytes - 5 || s[bytes - 1]) {
        return eg__fail_null(EG_EFORMAT, op, "the rules for characters are no double array with texts behind it");
    }
    eg__charsmap *m = eg__malloc(sizeof *m + (size_t)bytes);
    if (!m) {
        return eg__no_memory(op, bytes), NULL;
    }
    m->unit = (uint32_t *)m->data; /* aligned: behind two words */
    m->units = size / 4;
    for (int64_t i = 0; i < m->units; i++) {
        const uint8_t *u = s + 4 + 4 * i;
        m->unit[i] = u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
    }
    m->bytes = bytes - 4 - size;
    memcpy(m->data + size, s + 4 + size, (size_t)m->bytes);
    m->text = m->data + size;
    return m;
}

void eg__charsmap_free(eg__charsmap *m)
{
    free(m);
}

static uint32_t offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

const uint8_t *eg__charsmap_at(const eg__charsmap *m, const uint8_t *s, int64_t left, bool longest, int64_t *from,
                               int64_t *n)
{
    const uint8_t *found = NULL;
    uint32_t node = offset(m->unit[0]);
    for (int64_t i = 0; i < left; i++) {
        node ^= s[i];
        if (node >= m->units || (m->unit[node] & 0x800000ffu) != s[i]) {
            break;
        }
        const uint32_t unit = m->unit[node];
        node ^= offset(unit);
        if (unit >> 8 & 1 && node < m->units) {
            const int64_t at = m->unit[node] & 0x7fffffff;
            if (at < m->bytes) {
                found = m->text + at;
                *from = i + 1;
                *n = (int64_t)strlen((const char *)found);
            }
            if (!longest) {
                break;
            }
        }
    }
    return found;
}
