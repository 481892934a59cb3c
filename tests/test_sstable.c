/* test_sstable.c - sorted-string tables, and what in those of TensorFlow is refused. */
#include "lib/io/sstable.h"
#include "lib/io/tf.h"
#include "tests/egt.h"

/* ---- tables ---------------------------------------------------------------------------------------- */

enum { KEYS = 3000 };

static int key_of(char *to, int i)
{
    return sprintf(to, "%s%05d", i % 7 == 0 && i < 700 ? "" : "beginnings", i);
}

/* Keys 0, 2, 4 and so on, in their order. */
static void make_table(eg__sstable_maker *m)
{
    char key[40];
    *m = (eg__sstable_maker){0};
    for (int longer = 0; longer < 2; longer++) {
        for (int i = 0; i < KEYS; i++) {
            const int n = key_of(key, 2 * i);
            if ((n > 5) == longer) {
                eg__sstable_add(m, key, (size_t)n, &i, sizeof i);
            }
        }
    }
    EGT_CHECK(eg__sstable_end(m));
}

EGT(tables_are_read_in_any_order)
{
    eg__sstable_maker m;
    eg__sstable t;
    eg__source s;
    char key[40];
    int found = 0, value;
    make_table(&m);
    EGT_OK(eg__source_memory(&s, "test", m.all.s, m.all.n));
    EGT_OK(eg__sstable_open(&t, &s));
    EGT_OK(eg__sstable_next(&t));
    while (t.there) {
        EGT_EQ(t.data.nvalue, sizeof value);
        memcpy(&value, t.data.value, sizeof value);
        EGT_EQ(t.data.nkey, key_of(key, 2 * value));
        EGT_CHECK(!memcmp(key, t.data.key, t.data.nkey));
        found++;
        EGT_OK(eg__sstable_next(&t));
    }
    EGT_EQ(found, KEYS);
    for (int step = 1; step < KEYS; step = 3 * step + 2) { /* one by one, by leaps, from the end to the beginning */
        for (int k = 0, i = 0; k < 500; k++, i = (i + step) % (2 * KEYS)) {
            const int n = key_of(key, i);
            EGT_OK(eg__sstable_seek(&t, key, (size_t)n));
            EGT_EQ(t.there, i % 2 == 0);
            if (t.there) {
                memcpy(&value, t.data.value, sizeof value);
                EGT_EQ(value, i / 2);
            }
        }
    }
    EGT_OK(eg__sstable_seek(&t, "zz", 2));
    EGT_CHECK(!t.there);
    eg__sstable_close(&t);
    eg__sstable_free(&m);
}

/* Every byte matters: all but those of the footer that say nothing. */
EGT(no_byte_changes_unnoticed)
{
    eg__sstable_maker m = {0};
    eg__source s;
    int noticed = 0;
    eg__sstable_add(&m, "a", 1, "first", 5);
    eg__sstable_add(&m, "b", 1, "second", 6);
    EGT_CHECK(eg__sstable_end(&m));
    EGT_OK(eg__source_memory(&s, "test", m.all.s, m.all.n));
    for (uint32_t i = 0; i < m.all.n; i++) {
        eg__sstable t;
        m.all.s[i] ^= 64;
        eg_status st = eg__sstable_open(&t, &s);
        st = st ? st : eg__sstable_next(&t);
        st = st ? st : eg__sstable_next(&t);
        noticed += st != EG_OK;
        eg__sstable_close(&t);
        m.all.s[i] ^= 64;
    }
    EGT_CHECK(noticed >= (int)m.all.n - (4 + 5 + 40));
    EGT_CHECK(noticed < (int)m.all.n);
    eg__sstable_free(&m);
    eg_clear_error();
}

EGT(keys_out_of_order_are_refused)
{
    eg__sstable_maker m = {0};
    eg__sstable t;
    eg__source s;
    eg__sstable_add(&m, "b", 1, "", 0);
    eg__sstable_add(&m, "b", 1, "", 0);
    EGT_CHECK(eg__sstable_end(&m));
    EGT_OK(eg__source_memory(&s, "test", m.all.s, m.all.n));
    EGT_OK(eg__sstable_open(&t, &s));
    EGT_OK(eg__sstable_next(&t));
    EGT_REFUSED(eg__sstable_next(&t), EG_EFORMAT, "order");
    eg__sstable_close(&t);
    eg__sstable_free(&m);
}

/* ---- version 2 ------------------------------------------------------------------------------------- */

typedef struct bytes {
    const char *s;
    size_t n;
} bytes;

#define B(s)            \
    {                   \
        s, sizeof s - 1 \
    }

static const bytes header = B("\x08\x01\x1a\x02\x08\x01");

/* Entries of f32 [2] at 0 and of [4] in slices; the keys of 0..1 and 2..3 of "w". */
#define REST  "\x12\x04\x12\x02\x08\x02\x28\x08" /* but for the type */
#define PAIR  "\x08\x01" REST
#define FOUR  "\x08\x01\x12\x04\x12\x02\x08\x04"
#define LOW   "\x3a\x04\x0a\x02\x10\x02"
#define HIGH  "\x3a\x06\x0a\x04\x08\x02\x10\x02"
#define WIDE  "\x12\x05\x08\xff\xff\xff\x7f"
#define LOWS  "\0w\0\1\1\1\x80\x82"
#define HIGHS "\0w\0\1\1\1\x82\x82"

static const char *write_table(const char *name, const eg__sstable_maker *m)
{
    const char *path = egt_path(name);
    egt_write(path, m->all.s, m->all.n);
    return path;
}

/* X.index of these entries, beside 16 bytes of data. */
static const char *write_index(const bytes *head, const bytes *entries)
{
    eg__sstable_maker m = {0};
    if (head) {
        eg__sstable_add(&m, "", 0, head->s, head->n);
    }
    for (; entries[0].s; entries += 2) {
        eg__sstable_add(&m, entries[0].s, entries[0].n, entries[1].s, entries[1].n);
    }
    EGT_CHECK(eg__sstable_end(&m));
    egt_write(egt_path("x.data-00000-of-00001"), "0123456789abcdef", 16);
    const char *path = write_table("x.index", &m);
    eg__sstable_free(&m);
    return path;
}

EGT(what_an_index_cannot_say)
{
    static const struct {
        const char *words;
        bytes entries[7]; /* keys and values */
    } cases[] = {
        {"share bytes", {B("a"), B(PAIR), B("b"), B(PAIR "\x20\x07")}},
        {"not in its file", {B("a"), B(PAIR "\x20\x09")}},
        {"not in its file", {B("a"), B(PAIR "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}},
        {"other bytes", {B("a"), B(PAIR "\x28\x04")}},
        {"beyond the last", {B("a"), B(PAIR "\x18\x01")}},
        {"entry that is none", {B("a"), B(PAIR "\x28")}},
        {"no possible shape", {B("a"), B(PAIR "\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}},
        {"no possible shape", {B("a"), B("\x08\x01\x12\x15" WIDE WIDE WIDE)}},
        {"no possible shape", {B("a"), B("\x08\x01\x12\x02\x18\x01")}},
        {"zero in its name", {B("a\0b"), B(PAIR)}},
        {"not there", {B(LOWS), B(PAIR), B("w"), B(FOUR LOW HIGH)}},
        {"not there", {B(LOWS), B(PAIR), B(HIGHS), B("\x08\x03" REST), B("w"), B(FOUR LOW HIGH)}},
        {"overlap", {B(LOWS), B(PAIR), B("w"), B(FOUR LOW LOW LOW)}},
        {"twice", {B(LOWS), B(PAIR), B("w"), B(FOUR LOW LOW)}},
        {"lack 2", {B(LOWS), B(PAIR), B("w"), B(FOUR LOW)}},
        {"does not fit", {B("w"), B(FOUR "\x3a\x06\x0a\x04\x08\x03\x10\x02")}},
        {"does not fit", {B("w"), B(FOUR "\x3a\x00")}},
        {"does not fit", {B("w"), B(FOUR "\x3a\x08\x0a\x02\x10\x02\x0a\x02\x10\x02")}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(egt_case, sizeof egt_case, "case %d", (int)i);
        EGT_REFUSED(eg_tensors_open(write_index(&header, cases[i].entries)), EG_EFORMAT, cases[i].words);
    }
    static const bytes one[] = {B("a"), B(PAIR), {0}};
    static const bytes many = B("\x08\xa0\x8d\x06"), big = B("\x08\x01\x10\x01"), later = B("\x08\x01\x1a\x02\x10\x02");
    EGT_REFUSED(eg_tensors_open(write_index(NULL, one)), EG_EFORMAT, "no header");
    EGT_REFUSED(eg_tensors_open(write_index(&many, one)), EG_EFORMAT, "no header");
    EGT_REFUSED(eg_tensors_open(write_index(&big, one)), EG_EFORMAT, "big-endian");
    EGT_REFUSED(eg_tensors_open(write_index(&later, one)), EG_EFORMAT, "later version");
}

EGT(what_an_index_can_say)
{
    static const bytes entries[] = {B(LOWS),
                                    B(PAIR),
                                    B(HIGHS),
                                    B(PAIR "\x20\x08"),
                                    B("axes"), /* nine of them */
                                    B("\x08\x01\x12\x12\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0\x12\0"),
                                    B("small"),
                                    B("\x08\x1d\x12\x04\x12\x02\x08\x02"),
                                    B("w"),
                                    B(FOUR LOW HIGH),
                                    {0}};
    eg_tensors *m = eg_tensors_open(write_index(&header, entries));
    EGT_EQ(eg_tensors_count(m), 1);
    EGT_STR(eg_tensors_text(m, "axes"), "left out: more than 8 axes");
    EGT_STR(eg_tensors_text(m, "small"), "left out: dtype 29");
    const eg_tensor *w = eg_tensors_get(m, "w");
    EGT_CHECK(w && !memcmp(eg_data(w), "0123456789abcdef", 16));
    eg_tensors_free(m);
}

EGT(slices_that_overlap_are_noticed_when_they_are_read)
{
    static const bytes entries[] = {B(LOWS),
                                    B(PAIR),
                                    B("\0w\0\1\1\1\x81\x82"),
                                    B(PAIR "\x20\x08"),
                                    B("w"),
                                    B(FOUR LOW "\x3a\x06\x0a\x04\x08\x01\x10\x02"),
                                    {0}};
    eg_tensors *m = eg_tensors_open(write_index(&header, entries));
    EGT_EQ(eg_tensors_count(m), 1);
    EGT_REFUSED(eg_tensors_at(m, 0), EG_EFORMAT, "overlap");
    eg_tensors_free(m);
}

/* ---- version 1 ------------------------------------------------------------------------------------- */

/* A tensor "w" of i32 [4] in two slices, the low one of these values. */
#define META "\x0a\x01w\x12\x04\x12\x02\x08\x04\x18\x03\x22\x04\x0a\x02\x10\x02\x22\x06\x0a\x04\x08\x02\x10\x02"

static eg_tensors *open_old(bytes contents, bytes low)
{
    eg__sstable_maker m = {0};
    eg__sstable_add(&m, "", 0, contents.s, contents.n);
    eg__sstable_add(&m, LOWS, 8, low.s, low.n);
    eg__sstable_add(&m, HIGHS, 8, "\x12\x06\x1a\x04\x3a\x02\x03\x04", 8);
    EGT_CHECK(eg__sstable_end(&m));
    eg_tensors *map = eg_tensors_parse(m.all.s, m.all.n);
    eg__sstable_free(&m);
    return map;
}

EGT(what_version_1_says)
{
    static const bytes good = B("\x0a\x1b\x0a\x19" META);
    static const struct {
        const char *words;
        bytes low;
    } cases[] = {
        {NULL, B("\x12\x06\x1a\x04\x3a\x02\x01\x02")},
        {NULL, B("\x12\x06\x1a\x04\x38\x01\x38\x02")}, /* one by one */
        {NULL, B("\x12\x07\x1a\x05\x3a\x01\x01\x38\x02")},
        {"other elements", B("\x12\x05\x1a\x03\x3a\x01\x01")},
        {"other elements", B("\x12\x07\x1a\x05\x3a\x03\x01\x02\x03")},
        {"other elements", B("\x12\x06\x1a\x04\x3a\x02\x01\x82")},
        {"fewer elements", B("")},
        {"slice that is none", B("\x12\x07\x1a\x04")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(egt_case, sizeof egt_case, "case %d", (int)i);
        eg_tensors *m = open_old(good, cases[i].low);
        EGT_EQ(eg_tensors_count(m), 1);
        if (cases[i].words) {
            EGT_REFUSED(eg_tensors_at(m, 0), EG_EFORMAT, cases[i].words);
        } else {
            const eg_tensor *w = eg_tensors_at(m, 0);
            EGT_CHECK(w && eg_dtype_of(w) == EG_I32);
            for (int k = 0; k < 4; k++) {
                EGT_EQ(eg_get(w, k), k + 1);
            }
        }
        eg_tensors_free(m);
    }
    static const bytes twice = B("\x0a\x36\x0a\x19" META "\x0a\x19" META), none = B("\x08\x01");
    static const bytes huge =
        B("\x0a\x15\x0a\x13\x0a\x01w\x12\x08\x12\x06\x08\x80\x80\x80\x80\x04\x18\x01\x22\x02\x0a\0");
    EGT_REFUSED(open_old(twice, cases[0].low), EG_EFORMAT, "two tensors are named \"w\"");
    EGT_REFUSED(open_old(none, cases[0].low), EG_EFORMAT, "no checkpoint of version 1");
    EGT_REFUSED(open_old(huge, cases[0].low), EG_EFORMAT, "eg_unpack_limit");
}
