/* word_vectors.c - vectors of words, as GloVe and word2vec write them. */

#include "data/readers/fields.h"
#include "data/readers/stream.h"
#include "data/text/text.h"
#include "lib/core/counted.h"
#include "lib/core/device.h"
#include "lib/io/number.h"

enum { MOST_LINE = 100000000, MOST_WIDTH = 65536 };

typedef struct vectors {
    eg__stream s;
    const eg_vocabulary *v;
    eg_tensor *otherwise, *made, *found; /* made, found: once there is a vector */
    int64_t width, rows;                 /* of a vector; how many the file has had */
    eg__bytes line;
    eg__fields fields;
    int64_t number; /* of the line */
} vectors;

static const char op[] = "eg_word_vectors_load";

/* The matrix is asked for when the file has shown how wide it is. */
static eg_status make(vectors *w)
{
    const int64_t words = eg_vocabulary_size(w->v);
    const eg_tensor *t = w->otherwise;
    if (t && (t->ndim != 2 || t->shape[0] != words || t->shape[1] != w->width || t->dtype != EG_F32)) {
        return eg__fail(EG_ESHAPE, op, "otherwise is %s %s, must be f32 [%lld, %lld]",
                        eg_dtype_name((eg_dtype)t->dtype), EG__SHAPE_OF(t), (long long)words, (long long)w->width);
    }
    w->made =
        t ? eg_copy(eg_contiguous(eg_detach(w->otherwise))) : eg__full_on(0, EG_SHAPE(words, w->width), 0, EG_F32);
    w->found = w->made ? eg__full_on(0, EG_SHAPE(words), 0, EG_BOOL) : NULL;
    return w->found ? EG_OK : eg__why();
}

/* Where the vector of a word goes; NULL: it is not wanted, or there already. */
static float *place_of(vectors *w, const char *word, int64_t n)
{
    const int64_t id = eg_vocabulary_id(w->v, word, (size_t)n);
    uint8_t *found = id < 0 ? NULL : (uint8_t *)eg__ptr(w->found) + id;
    if (!found || *found) {
        return NULL;
    }
    *found = 1;
    return (float *)eg__ptr(w->made) + id * w->width;
}

static eg_status check_width(vectors *w, int64_t width)
{
    w->width = width;
    return width >= 1 && width <= MOST_WIDTH
               ? EG_OK
               : eg__stream_bad(&w->s, 0, "vectors of %lld numbers, must be 1..%d", (long long)width, MOST_WIDTH);
}

/* ---- text ----------------------------------------------------------------------------------- */

static eg_status read_number(vectors *w, eg__field f, float *to)
{
    const char *s = (const char *)w->line.p + f.at;
    double x;
    if (!eg__parse_real(s, f.n, EG_F32, &x)) {
        return eg__stream_bad(&w->s, w->s.offset, "line %lld: \"%.*s\" is no number", (long long)w->number,
                              (int)eg__min(f.n, 40), s);
    }
    *to = (float)x;
    return EG_OK;
}

/* Two integers in the first line: how many vectors there are, and how wide. */
static bool read_head(vectors *w, int64_t *width)
{
    int64_t n[2];
    bool good = w->fields.n == 2;
    for (int k = 0; k < 2 && good; k++) {
        good = eg__parse_integer((const char *)w->line.p + w->fields.of[k].at, w->fields.of[k].n, &n[k]);
    }
    *width = good ? n[1] : w->fields.n - 1;
    return good;
}

/* The last numbers are the vector; all before them is the word. */
static eg_status read_row(vectors *w)
{
    const int64_t first = w->fields.n - w->width;
    if (first < 1) {
        return eg__stream_bad(&w->s, w->s.offset, "line %lld: %u fields, not a word and %lld numbers",
                              (long long)w->number, w->fields.n, (long long)w->width);
    }
    eg_status st = w->rows++ ? EG_OK : make(w);
    const eg__field begin = w->fields.of[0], last = w->fields.of[first - 1];
    float *to = st ? NULL : place_of(w, (const char *)w->line.p + begin.at, last.at + last.n - begin.at);
    for (int64_t i = 0; i < w->width && to && !st; i++) {
        st = read_number(w, w->fields.of[first + i], &to[i]);
    }
    return st;
}

static eg_status read_text(vectors *w)
{
    bool more = true;
    eg_status st = EG_OK;
    while (!st && more) {
        st = eg__stream_line(&w->s, &w->line, MOST_LINE, &more);
        w->number++;
        if (st || !more) {
            continue;
        }
        st = eg__fields_split(&w->fields, &w->line, 0) ? EG_OK : eg__no_memory(op, w->line.n);
        if (!st && w->number == 1) {
            int64_t width;
            const bool head = read_head(w, &width);
            st = check_width(w, width);
            st = st || head ? st : read_row(w);
        } else if (!st && w->fields.n) {
            st = read_row(w);
        }
    }
    return st;
}

/* ---- binary --------------------------------------------------------------------------------- */

static eg_status read_exactly(vectors *w, void *to, int64_t n)
{
    int64_t got;
    const int64_t at = w->s.offset;
    eg_status st = eg__stream_read(&w->s, to, n, &got);
    return st || got == n ? st : eg__stream_bad(&w->s, at, "the file ends within a vector");
}

/* What is before a blank, without the end of a line in front of it. */
static eg_status read_word(vectors *w)
{
    char c = 0;
    eg_status st = EG_OK;
    w->line.n = 0;
    while (!st && !(st = read_exactly(w, &c, 1)) && c != ' ') {
        if (w->line.n == MOST_WIDTH) {
            st = eg__stream_bad(&w->s, w->s.offset, "a word has more than %d bytes", MOST_WIDTH);
        } else if ((c != '\n' || w->line.n) && !eg__bytes_add(&w->line, &c, 1)) {
            st = eg__no_memory(op, w->line.n);
        }
    }
    return st;
}

static eg_status read_vector(vectors *w, float *row)
{
    const int64_t bytes = w->width * (int64_t)sizeof *row;
    eg_status st = read_word(w);
    st = st ? st : read_exactly(w, row, bytes);
    st = st || w->rows++ ? st : make(w);
    float *to = st ? NULL : place_of(w, w->line.n ? (const char *)w->line.p : "", w->line.n);
    if (to) {
        if (eg__big_endian()) {
            eg__swap_bytes(row, w->width, sizeof *row);
        }
        memcpy(to, row, (size_t)bytes);
    }
    return st;
}

static eg_status read_binary(vectors *w)
{
    bool more;
    int64_t width = 0, count = 0;
    eg_status st = eg__stream_line(&w->s, &w->line, MOST_WIDTH, &more);
    if (!st && !eg__fields_split(&w->fields, &w->line, 0)) {
        st = eg__no_memory(op, w->line.n);
    }
    if (!st && (!more || !read_head(w, &width))) {
        st = eg__stream_bad(&w->s, 0, "the first line is not how many vectors there are, and how wide");
    }
    st = st ? st : check_width(w, width);
    float *row = st ? NULL : eg__counted_alloc((size_t)width * sizeof *row);
    if (!st && !row) {
        st = eg__no_memory(op, width);
    }
    if (!st) {
        eg__parse_integer((const char *)w->line.p + w->fields.of[0].at, w->fields.of[0].n, &count);
    }
    while (!st && w->rows < count) {
        st = read_vector(w, row);
    }
    eg__counted_free(row);
    return st;
}

/* ---- both ----------------------------------------------------------------------------------- */

eg_tensor *eg_word_vectors_load_with(const char *path, const eg_vocabulary *v, const eg_word_vectors_options *options)
{
    eg_word_vectors_options o;
    eg__options(&o, sizeof o, options);
    vectors w = {.v = v, .otherwise = o.otherwise};
    if (o.found) {
        *o.found = NULL;
    }
    if (!v || !path) {
        return eg__null_argument(op, v ? "path" : "v"), NULL;
    }
    if ((o.otherwise && eg__host_only(o.otherwise, op, "otherwise")) ||
        eg__stream_open(&w.s, op, path, EG_COMPRESSION_AUTO)) {
        return NULL;
    }
    eg_scope scope = eg_scope_push();
    eg_status st = !scope.depth ? eg__why() : o.binary ? read_binary(&w) : read_text(&w);
    if (!st && !w.rows) {
        st = eg__stream_bad(&w.s, w.s.offset, "there is no vector");
    }
    eg__stream_close(&w.s);
    eg__bytes_free(&w.line);
    eg__fields_free(&w.fields);
    if (!scope.depth) {
        return NULL;
    }
    if (!st && o.found) {
        eg_scope_pop_n(scope, (eg_tensor *[]){w.made, w.found}, 2);
        *o.found = w.found;
        return w.made;
    }
    return eg_scope_pop(scope, st ? NULL : w.made);
}
