/* charsmap.c - rules of SentencePiece's normalisers: a double array (S. Yata's darts-clone) of what is replaced, and
 * texts ended by 0 that replace it. */
#include "data/tokens/tokens.h"

struct eg__charsmap {
    uint32_t *unit;
    const uint8_t *text;
    int64_t units, bytes; /* of the texts, the last of which ends with a 0 */
    uint8_t data[];
};

static uint32_t offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* Returns the offset of the replacement text of the sequence that leads to the node; -1: it has none. */
static int64_t value_of(const eg__charsmap *m, uint32_t node)
{
    const uint32_t unit = m->unit[node], leaf = node ^ offset(unit);
    return unit >> 8 & 1 && leaf < m->units && m->unit[leaf] >> 31 ? (int64_t)(m->unit[leaf] & 0x7fffffff) : -1;
}

/* Texts begin within the rules, and with a character. */
static eg_status check_values(const char *op, const eg__charsmap *m)
{
    for (int64_t i = 0; i < m->units; i++) {
        const int64_t at = value_of(m, (uint32_t)i);
        if (at >= m->bytes || (at >= 0 && (m->text[at] & 0xc0) == 0x80)) {
            return eg__fail(EG_EFORMAT, op,
                            "a rule for characters is replaced by byte %lld of %lld, where no text begins",
                            (long long)at, (long long)m->bytes);
        }
    }
    return EG_OK;
}

eg__charsmap *eg__charsmap_new(const char *op, const void *data, int64_t bytes)
{
    const uint8_t *s = data;
    const int64_t size = bytes >= 4 ? (int64_t)(s[0] | s[1] << 8 | s[2] << 16 | (uint32_t)s[3] << 24) : -1;
    if (size < 4 || size % 4 || size > bytes - 5 || s[bytes - 1]) {
        return eg__fail_null(EG_EFORMAT, op, "the rules for characters are no double array with texts behind it");
    }
    eg__charsmap *m = eg__counted_alloc(sizeof *m + (size_t)bytes);
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
    if (eg__check_text(op, "the replacement texts of the rules for characters", m->text, m->bytes, INT64_MAX) ||
        check_values(op, m)) {
        eg__charsmap_free(m);
        return NULL;
    }
    return m;
}

void eg__charsmap_free(eg__charsmap *m)
{
    eg__counted_free(m);
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
        const int64_t at = value_of(m, node);
        const bool whole = i + 1 == left || (s[i + 1] & 0xc0) != 0x80; /* not a part of a character */
        node ^= offset(m->unit[node]);
        if (at >= 0 && whole) {
            found = m->text + at;
            *from = i + 1;
            if (!longest) {
                break;
            }
        }
    }
    *n = found ? (int64_t)strlen((const char *)found) : 0;
    return found;
}
