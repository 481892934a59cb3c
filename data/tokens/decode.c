/* decode.c - ids back to text: tokens as they are written, changed by steps, joined. */
#include "data/text/text.h"
#include "data/tokens/tokens.h"
#include "lib/core/device.h"
#include "lib/io/file.h"

/* ---- parts --------------------------------------------------------------------------------------------- */

static eg_status grow(const char *op, eg__parts *p)
{
    if (p->part.n < p->part.room) {
        return EG_OK;
    }
    const uint32_t room = p->part.room ? 2 * p->part.room : 64;
    eg__extent *grown = eg__counted_alloc(room * sizeof *grown);
    if (!grown) {
        return eg__no_memory(op, (int64_t)(room * sizeof *grown));
    }
    if (p->part.n) {
        memcpy(grown, p->part.p, p->part.n * sizeof *grown);
    }
    eg__counted_free(p->part.p);
    p->part.p = grown;
    p->part.room = room;
    return EG_OK;
}

/* An empty part behind the others; bytes are added to the last one. */
static eg_status begin(const char *op, eg__parts *p)
{
    eg_status st = grow(op, p);
    if (!st) {
        p->part.p[p->part.n++] = (eg__extent){(uint32_t)p->text.n, (uint32_t)p->text.n};
    }
    return st;
}

static eg_status more(const char *op, eg__parts *p, const void *s, int64_t n)
{
    const int64_t all = p->text.n + n;
    if (p->most && all > p->most) {
        return eg__fail(
            EG_EINVAL, op,
            "the decoders make more than %lld bytes of the tokens; the limit is %d times their length and %d",
            (long long)p->most, EG__GROWTH, EG__GROWTH_FREE);
    }
    if (all > INT32_MAX || !eg__bytes_add(&p->text, s, n)) {
        return eg__no_memory(op, n);
    }
    p->part.p[p->part.n - 1].end += (uint32_t)n;
    return EG_OK;
}

/* Returns the length of the invalid UTF-8 sequence at s, up to where it could not become a character any more
 * (Unicode, 3.9). */
static int64_t bad_bytes(const uint8_t *s, int64_t n)
{
    const uint8_t a = s[0], b = n > 1 ? s[1] : 0;
    const int64_t wants = a >= 0xc2 && a < 0xe0 ? 2 : a >= 0xe0 && a < 0xf0 ? 3 : a >= 0xf0 && a < 0xf5 ? 4 : 1;
    const bool second = b >= (a == 0xe0   ? 0xa0
                              : a == 0xf0 ? 0x90
                                          : 0x80) &&
                        b <= (a == 0xed   ? 0x9f
                              : a == 0xf4 ? 0x8f
                                          : 0xbf);
    int64_t bytes = wants > 1 && second ? 2 : 1;
    while (bytes > 1 && bytes < wants && bytes < n && (s[bytes] & 0xc0) == 0x80) {
        bytes++;
    }
    return bytes;
}

/* Adds bytes to the last part, with U+FFFD for what is no UTF-8: one for each bad byte, or for all that could have been
 * one character. */
static eg_status more_mended(const char *op, eg__parts *p, const uint8_t *s, int64_t n, bool each)
{
    eg_status st = EG_OK;
    for (int64_t i = 0, bytes; i < n && !st; i += bytes) {
        bytes = eg__utf8_length((const char *)s + i, n - i);
        if (bytes > 0) {
            st = more(op, p, s + i, bytes);
        } else {
            bytes = each ? 1 : bad_bytes(s + i, n - i);
            st = more(op, p, "\xef\xbf\xbd", 3);
        }
    }
    return st;
}

static eg_status add(const char *op, eg__parts *p, const void *s, int64_t n)
{
    eg_status st = begin(op, p);
    return st ? st : more(op, p, s, n);
}

static void clear(eg__parts *p)
{
    p->text.n = 0;
    p->part.n = 0;
}

static const uint8_t *part(const eg__parts *p, uint32_t i, int64_t *n)
{
    *n = p->part.p[i].end - p->part.p[i].begin;
    return p->text.p ? p->text.p + p->part.p[i].begin : (const uint8_t *)"";
}

static bool begins_with(const uint8_t *s, int64_t n, const eg__string *with)
{
    return with->n && n >= with->n && !memcmp(s, with->s, (size_t)with->n);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

/* Writes a part again with all `what` as `to`. */
static eg_status replaced(const char *op, eg__parts *out, const uint8_t *s, int64_t n, const eg__string *what,
                          const char *to, int64_t bytes)
{
    eg_status st = begin(op, out);
    int64_t done = 0;
    for (int64_t i = 0; i < n && !st;) {
        if (begins_with(s + i, n - i, what)) {
            st = more(op, out, s + done, i - done);
            st = st ? st : more(op, out, to, bytes);
            done = i += what->n;
        } else {
            i++;
        }
    }
    return st ? st : more(op, out, s + done, n - done);
}

/* Two parts that texts go between while one is changed again and again. */
typedef struct pair {
    eg__parts of[2];
    int now;
} pair;

static void pair_free(pair *x)
{
    for (int k = 0; k < 2; k++) {
        eg__bytes_free(&x->of[k].text);
        eg__counted_free(x->of[k].part.p);
    }
}

static eg_status pair_set(const char *op, pair *x, const char *before, const uint8_t *s, int64_t n)
{
    x->now = 0;
    clear(&x->of[0]);
    eg_status st = add(op, &x->of[0], before, (int64_t)strlen(before));
    return st ? st : more(op, &x->of[0], s, n);
}

static eg_status pair_replace(const char *op, pair *x, const eg__string *what, const char *to)
{
    int64_t n;
    const uint8_t *s = part(&x->of[x->now], 0, &n);
    clear(&x->of[!x->now]);
    eg_status st = replaced(op, &x->of[!x->now], s, n, what, to, (int64_t)strlen(to));
    x->now = !x->now;
    return st;
}

/* Blanks before marks go, as BERT's. */
static eg_status pair_tidy(const char *op, pair *x)
{
    static const struct {
        const char *what, *to;
    } tidy[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    eg_status st = EG_OK;
    for (int r = 0; r < EG__COUNT(tidy) && !st; r++) {
        st = pair_replace(op, x, &(eg__string){(char *)tidy[r].what, (int64_t)strlen(tidy[r].what)}, tidy[r].to);
    }
    return st;
}

/* text: the prefix of what continues a word; a: blanks before marks go. */
eg_status eg__decode_wordpiece(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    eg_status st = EG_OK;
    pair x;
    memset(&x, 0, sizeof x);
    for (uint32_t i = 0; i < from->part.n && !st; i++) {
        int64_t n;
        const uint8_t *p = part(from, i, &n);
        const bool goes_on = !s->text.n || begins_with(p, n, &s->text);
        const int64_t skip = i && goes_on ? s->text.n : 0;
        st = pair_set(op, &x, i && !goes_on ? " " : "", p + skip, n - skip);
        st = st || !s->a ? st : pair_tidy(op, &x);
        p = st ? NULL : part(&x.of[x.now], 0, &n);
        st = st ? st : add(op, to, p, n);
    }
    pair_free(&x);
    return st;
}

/* Characters of ByteLevel become their bytes, of parts that have nothing else; one part. */
eg_status eg__decode_bytes(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    (void)s;
    eg__bytes all = {0};
    bool good = true;
    for (uint32_t i = 0; i < from->part.n && good; i++) {
        int64_t n;
        const uint8_t *p = part(from, i, &n);
        const int64_t before = all.n;
        int bytes, b = 0;
        for (int64_t k = 0; k < n && good && b >= 0; k += bytes) {
            b = eg__character_byte(eg__character(p + k, &bytes));
            good = b < 0 || eg__bytes_add(&all, &(uint8_t){(uint8_t)b}, 1);
        }
        if (b < 0 && good) {
            all.n = before;
            good = eg__bytes_add(&all, p, n);
        }
    }
    eg_status st = good ? begin(op, to) : eg__no_memory(op, all.n);
    st = st ? st : more_mended(op, to, all.p, all.n, false);
    eg__bytes_free(&all);
    return st;
}

/* text: stands for blanks; a: the first part loses all of them. */
eg_status eg__decode_metaspace(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < from->part.n && !st; i++) {
        int64_t n;
        const uint8_t *p = part(from, i, &n);
        st = replaced(op, to, p, n, &s->text, " ", i || !s->a);
    }
    return st;
}

/* text: ends a word; the last part has no blank behind it. */
eg_status eg__decode_suffix(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < from->part.n && !st; i++) {
        int64_t n;
        const uint8_t *p = part(from, i, &n);
        st = replaced(op, to, p, n, &s->text, " ", i + 1 < from->part.n);
    }
    return st;
}

static int byte_of(const uint8_t *s, int64_t n)
{
    int value = 0;
    if (n != 6 || memcmp(s, "<0x", 3) || s[5] != '>') {
        return -1;
    }
    for (int i = 3; i < 5; i++) {
        const int c = s[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                 : -1;
        if (digit < 0) {
            return -1;
        }
        value = 16 * value + digit;
    }
    return value;
}

/* Runs of <0x..> become one part if they are UTF-8, else a U+FFFD for each. */
eg_status eg__decode_fallback(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    (void)s;
    eg_status st = EG_OK;
    eg__bytes run = {0};
    for (uint32_t i = 0; i <= from->part.n && !st; i++) {
        int64_t n = 0;
        const uint8_t *p = i < from->part.n ? part(from, i, &n) : NULL;
        const int b = p ? byte_of(p, n) : -1;
        if (b >= 0) {
            st = eg__bytes_add(&run, &(uint8_t){(uint8_t)b}, 1) ? EG_OK : eg__no_memory(op, run.n);
            continue;
        }
        bool good = true;
        for (int64_t k = 0, bytes; k < run.n && good; k += bytes) {
            bytes = eg__utf8_length((const char *)run.p + k, run.n - k);
            good = bytes > 0;
        }
        for (int64_t k = 0; k < run.n && !good && !st; k++) {
            st = add(op, to, "\xef\xbf\xbd", 3);
        }
        st = st || !good || !run.n ? st : add(op, to, run.p, run.n);
        run.n = 0;
        st = st || !p ? st : add(op, to, p, n);
    }
    eg__bytes_free(&run);
    return st;
}

static eg_status more_blanks(const char *op, eg__parts *to, const uint8_t *p, int64_t n, const eg__string *mark)
{
    eg_status st = EG_OK;
    int64_t done = 0;
    for (int64_t k = 0; k < n && !st;) {
        if (begins_with(p + k, n - k, mark)) {
            st = more(op, to, p + done, k - done);
            st = st ? st : more(op, to, " ", 1);
            done = k += mark->n;
        } else {
            k++;
        }
    }
    return st ? st : more(op, to, p + done, n - done);
}

/* SentencePiece's: <0x..> as bytes (c), text for blanks, `more` for what is unknown. The text loses the blank it begins
 * with (a), or one from each piece as long as it is empty (b). */
eg_status eg__decode_pieces(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    eg_status st = begin(op, to);
    eg__bytes run = {0};
    bool at_begin = true, lost = false;
    for (uint32_t i = 0; i <= from->part.n && !st; i++) {
        int64_t n = 0;
        const uint8_t *p = i < from->part.n ? part(from, i, &n) : NULL;
        const int b = p && s->c ? byte_of(p, n) : -1;
        if (b >= 0) {
            st = eg__bytes_add(&run, &(uint8_t){(uint8_t)b}, 1) ? EG_OK : eg__no_memory(op, run.n);
            continue;
        }
        st = more_mended(op, to, run.p, run.n, true);
        run.n = 0;
        at_begin = at_begin && !lost && !to->text.n;
        if (st || !p) {
            continue;
        }
        if (n == s->more.n && begins_with(p, n, &s->more)) {
            st = more(op, to, p, n);
            continue;
        }
        const bool loses = at_begin && (s->a || s->b) && begins_with(p, n, &s->text);
        const int64_t skip = loses ? s->text.n : 0;
        lost = loses && !s->b;
        st = more_blanks(op, to, p + skip, n - skip, &s->text);
    }
    eg__bytes_free(&run);
    return st;
}

eg_status eg__decode_fuse(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    (void)s;
    return add(op, to, from->text.p, from->text.n);
}

/* pattern: becomes `more`. */
eg_status eg__decode_replace(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    eg__encoder *w = eg__encoder_take(s->of);
    eg_status st = w ? EG_OK : eg__no_memory(op, (int64_t)sizeof *w);
    for (uint32_t i = 0; i < from->part.n && !st; i++) {
        int64_t n, done = 0;
        const uint8_t *p = part(from, i, &n);
        eg__matches m = EG__MATCHES;
        st = begin(op, to);
        while (!st && eg__next_match(w, s->pattern, p, n, &m)) {
            st = more(op, to, p + done, m.begin - done);
            st = st ? st : more(op, to, s->more.s, s->more.n);
            done = m.end;
        }
        st = st ? st : w->st ? eg__fail(w->st, op, "%s", w->words) : more(op, to, p + done, n - done);
    }
    eg__encoder_give(w);
    return st;
}

/* At most `number` of text at the begin of each part, and `count` at its end. */
eg_status eg__decode_strip(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < from->part.n && !st; i++) {
        int64_t n;
        const uint8_t *p = part(from, i, &n);
        for (int64_t k = 0; k < s->number && begins_with(p, n, &s->text); k++) {
            p += s->text.n;
            n -= s->text.n;
        }
        for (int64_t k = 0; k < s->count && n >= s->text.n && begins_with(p + n - s->text.n, s->text.n, &s->text);
             k++) {
            n -= s->text.n;
        }
        st = add(op, to, p, n);
    }
    return st;
}

/* Removes repeated tokens, then the CTC blank token `text`. a: also removes blanks before punctuation and replaces
 * `more` by a blank. */
eg_status eg__decode_ctc(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    eg_status st = EG_OK;
    pair x;
    memset(&x, 0, sizeof x);
    for (uint32_t i = 0; i < from->part.n && !st; i++) {
        int64_t n, before = -1;
        const uint8_t *last = i ? part(from, i - 1, &before) : NULL, *p = part(from, i, &n);
        if (before == n && !memcmp(last, p, (size_t)n)) {
            continue;
        }
        st = pair_set(op, &x, "", p, n);
        st = st ? st : pair_replace(op, &x, &s->text, "");
        st = st || !s->a ? st : pair_tidy(op, &x);
        st = st || !s->a ? st : pair_replace(op, &x, &s->more, " ");
        p = st ? NULL : part(&x.of[x.now], 0, &n);
        st = st || !n ? st : add(op, to, p, n);
    }
    pair_free(&x);
    return st;
}

/* Parts are joined by a blank. */
eg_status eg__decode_words(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    (void)s;
    eg_status st = begin(op, to);
    for (uint32_t i = 0; i < from->part.n && !st; i++) {
        int64_t n;
        const uint8_t *p = part(from, i, &n);
        st = i ? more(op, to, " ", 1) : EG_OK;
        st = st ? st : more(op, to, p, n);
    }
    return st;
}

/* ---- subtokens ---------------------------------------------------------------------------------------------- */

static eg_status unescape(const char *op, eg__parts *to, const uint8_t *s, int64_t n)
{
    eg_status st = begin(op, to);
    for (int64_t i = 0; i < n && !st;) {
        int64_t digits = 0, code = 0;
        while (s[i] == '\\' && digits < 8 && i + 1 + digits < n && s[i + 1 + digits] >= '0' &&
               s[i + 1 + digits] <= '9') {
            code = 10 * code + s[i + 1 + digits++] - '0';
        }
        if (digits && i + 1 + digits < n && s[i + 1 + digits] == ';') {
            uint8_t c[4];
            const bool good = code < 0x110000 && !(code >= 0xd800 && code < 0xe000);
            st = good ? more(op, to, c, eg__put_character(c, (int32_t)code)) : more(op, to, "\xe3\x80\x93", 3);
            i += digits + 2;
        } else if (s[i] == '\\' && i + 1 < n && (s[i + 1] == 'u' || s[i + 1] == '\\')) {
            st = more(op, to, s[i + 1] == 'u' ? "_" : "\\", 1);
            i += 2;
        } else {
            st = more(op, to, s + i++, 1);
        }
    }
    return st;
}

static bool is_alike(const uint8_t *s, int64_t n)
{
    int k;
    return n && eg__class_at(s, &k) & (EG__LETTER | EG__NUMBER);
}

/* Words end at "_"; a blank stands between two that begin with letters or numbers. */
eg_status eg__decode_subtokens(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to)
{
    (void)s;
    eg__parts words = {0};
    eg_status st = EG_OK;
    int64_t done = 0;
    for (int64_t i = 0; i <= from->text.n && !st; i++) {
        if (i < from->text.n ? from->text.p[i] == '_' : i > done) {
            st = unescape(op, &words, from->text.p + done, i - done);
            done = i + 1;
        }
    }
    st = st ? st : begin(op, to);
    bool was = false;
    for (uint32_t i = 0; i < words.part.n && !st; i++) {
        int64_t n;
        const uint8_t *p = part(&words, i, &n);
        const bool is = is_alike(p, n);
        st = i && is && was ? more(op, to, " ", 1) : EG_OK;
        st = st ? st : more(op, to, p, n);
        was = is;
    }
    eg__bytes_free(&words.text);
    eg__counted_free(words.part.p);
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* Of a model of SentencePiece; they have no text. */
static bool is_control(const eg_tokenizer *t, int64_t id)
{
    return t->model.type && t->model.type[id] == EG__CONTROL_PIECE;
}

static eg_status spell(const char *op, const eg_tokenizer *t, const eg_tensor *ids, bool skip, eg__parts *to)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < ids->n && !st; i++) {
        const int64_t id = eg__load_int(eg__ptr(ids), ids->dtype, i);
        const char *s = eg_tokenizer_token(t, id);
        if (!s) {
            st = eg__fail(EG_EINDEX, op, "the id %lld at %lld is none of the %lld there are", (long long)id,
                          (long long)i, (long long)eg_tokenizer_size(t));
        } else if (t->model.type && t->model.type[id] == EG__UNKNOWN_PIECE) {
            const eg__string *surface = &t->decode.p[0].more;
            st = add(op, to, surface->s, surface->n);
        } else if (is_control(t, id)) {
            st = add(op, to, "", 0); /* a run of bytes ends here */
        } else {
            const eg__extent at = t->vocab.piece.p[id];
            const eg__added *a = t->added_of[id] >= 0 ? &t->added.p[t->added_of[id]] : NULL;
            /* as `tokenizers` does: a token that its normalisers change is written changed, and not known as special */
            st = a && a->changed           ? add(op, to, a->text.s, a->text.n)
                 : skip && a && a->special ? EG_OK
                                           : add(op, to, s, at.end - at.begin);
        }
    }
    return st;
}

eg_tensor *eg_tokenizer_decode_with(const eg_tokenizer *t, eg_tensor *ids, const eg_detokenize_options *options)
{
    static const char op[] = "eg_tokenizer_decode";
    eg_detokenize_options o;
    eg__options(&o, sizeof o, options);
    if (!t) {
        return eg__null_argument(op, "t"), NULL;
    }
    if (eg__check(ids, op, "ids") || eg__host_only(ids, op, "ids")) {
        return NULL;
    }
    if (ids->ndim != 1 || !(EG__INTS >> ids->dtype & 1)) {
        return eg__fail_null(ids->ndim == 1 ? EG_EDTYPE : EG_ESHAPE, op, "ids are integers [n], not %s %s",
                             eg_dtype_name((eg_dtype)ids->dtype), EG__SHAPE_OF(ids));
    }
    eg__parts parts[2];
    memset(parts, 0, sizeof parts);
    int k = 0;
    eg_scope scope = eg_scope_push();
    eg_tensor *dense = scope.depth ? eg_contiguous(ids) : NULL;
    eg_status st = dense ? spell(op, t, dense, o.skip_specials, &parts[0]) : eg__why();
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    parts[0].most = parts[1].most = eg__growth_most(parts[0].text.n);
    for (uint32_t i = 0; i < t->decode.n && !st; i++) {
        clear(&parts[!k]);
        st = t->decode.p[i].decode(op, &t->decode.p[i], &parts[k], &parts[!k]);
        k = !k;
    }
    eg_tensor *made = st ? NULL : eg__bytes_tensor(parts[k].text.p, parts[k].text.n);
    for (int i = 0; i < 2; i++) {
        eg__bytes_free(&parts[i].text);
        eg__counted_free(parts[i].part.p);
    }
    return made;
}
