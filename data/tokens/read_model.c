/* read_model.c - models of SentencePiece (Kudo and Richardson 2018). */
#include <float.h>

#include "data/readers/bytes.h"
#include "data/tokens/tokens.h"

#ifdef EG_HAVE_PROTOBUF
#include "data/readers/protobuf.h"

#include "data/sentencepiece.pb-c.h"

/* ---- pieces -------------------------------------------------------------------------------------------- */

static eg_status take_pieces(const char *op, eg_tokenizer *t, const EgSp__Model *file)
{
    eg_status st = file->n_pieces ? EG_OK : eg__fail(EG_EFORMAT, op, "the model has no pieces");
    for (size_t i = 0; i < file->n_pieces && !st; i++) {
        const char *s = file->pieces[i]->text;
        const int64_t n = s ? (int64_t)strlen(s) : 0;
        st = n ? eg__vocab_put(&t->vocab, op, (int64_t)i, s, n) : eg__fail(EG_EFORMAT, op, "piece %zu has no text", i);
    }
    st = st ? st : eg__model_trie(op, t);
    st = st ? st : eg__model_scores(op, t);
    eg__model *m = &t->model;
    m->type = st ? NULL : eg__counted_alloc(file->n_pieces + 1);
    if (!m->type) {
        return st ? st : eg__no_memory(op, (int64_t)file->n_pieces);
    }
    double least = 0, most = (double)FLT_MIN; /* as SentencePiece, whose largest score is not below that */
    bool any = false;
    for (size_t i = 0; i < file->n_pieces && !st; i++) {
        const int32_t type = file->pieces[i]->type;
        const double score = (double)file->pieces[i]->score;
        if (type < EG__NORMAL_PIECE || type > EG__BYTE_PIECE || score != score) {
            st = eg__fail(EG_EFORMAT, op, "piece %zu has the type %d and the score %g", i, type, score);
        }
        m->type[i] = (uint8_t)type;
        m->score[i] = score;
        m->users |= type == EG__USER_PIECE;
        if (type == EG__NORMAL_PIECE) {
            least = any && least < score ? least : score;
            most = most > score ? most : score;
            any = true;
        }
        if (type == EG__UNKNOWN_PIECE) {
            m->unknown = (int32_t)i;
        }
    }
    m->unknown_score = (double)((float)least - 10.0F);
    m->max_score = most;
    return st || m->unknown >= 0 ? st : eg__fail(EG_EFORMAT, op, "the model has no piece for what is unknown");
}

/* Symbols of the user are left as they are by the normaliser; controls are not found in texts. */
static eg_status take_symbols(const char *op, eg_tokenizer *t)
{
    for (uint32_t i = 0; i < t->vocab.piece.n; i++) {
        const eg__extent p = t->vocab.piece.p[i];
        if (t->model.type[i] == EG__USER_PIECE &&
            !eg__added_add(op, t, (const char *)t->vocab.text.p + p.begin, p.end - p.begin, (int32_t)i)) {
            return eg__why();
        }
    }
    return EG_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

static const char mark[] = "\xe2\x96\x81";

static eg_status take_steps(const char *op, eg_tokenizer *t, const EgSp__Normalizer *n, const EgSp__Training *training)
{
    eg__step *s = eg__steps_add(op, &t->normal);
    if (!s) {
        return eg__why();
    }
    s->pass = eg__normal_sentencepiece;
    s->a = !n || n->blank_before;
    s->b = training && training->blank_behind;
    s->c = !n || n->single_blanks;
    s->d = !n || n->marks;
    if (n && n->rules.len) {
        s->map = eg__charsmap_new(op, n->rules.data, (int64_t)n->rules.len);
        if (!s->map) {
            return eg__why();
        }
    }
    const bool before = s->a;
    eg__step *bytes = eg__steps_add(op, &t->decode);
    if (!bytes) {
        return eg__why();
    }
    bytes->decode = eg__decode_pieces;
    bytes->a = before;
    bytes->b = s->c;
    bytes->c = training && training->byte_fallback;
    eg_status st = eg__string_set(&bytes->text, op, mark, sizeof mark - 1);
    const char *surface = training && training->unknown_surface ? training->unknown_surface : " \xe2\x81\x87 ";
    return st ? st : eg__string_set(&bytes->more, op, surface, (int64_t)strlen(surface));
}

static eg_status take_model(const char *op, eg_tokenizer *t, const EgSp__Training *training)
{
    const int kind = training ? training->model : 1;
    eg__model *m = &t->model;
    if (kind != 1 && kind != 2) {
        return eg__fail(EG_EFORMAT, op, "models of %s are not known here, only unigram and BPE",
                        kind == 3   ? "words"
                        : kind == 4 ? "characters"
                                    : "this kind");
    }
    m->kind = kind == 1 ? EG__UNIGRAM : EG__BPE;
    m->run = kind == 1 ? eg__model_unigram : eg__model_bpe_scored;
    m->single = m->fuse = true;
    m->scored = kind == 2;
    m->fallback = training && training->byte_fallback;
    if (m->fallback) {
        eg__model_fallback(m);
        if (!m->ready_bytes) {
            return eg__fail(EG_EFORMAT, op, "the model lacks pieces for bytes");
        }
    }
    const struct {
        eg_special which;
        int32_t id;
    } names[] = {{EG_SPECIAL_BOS, training ? training->begin : 1},
                 {EG_SPECIAL_EOS, training ? training->end : 2},
                 {EG_SPECIAL_PAD, training ? training->padding : -1}};
    for (int i = 0; i < EG__COUNT(names); i++) {
        const bool there = names[i].id >= 0 && names[i].id < (int64_t)t->vocab.piece.n;
        t->names[names[i].which] = there ? names[i].id : -1;
    }
    return EG_OK;
}

static eg_tokenizer *take(const char *op, const EgSp__Model *file)
{
    eg_tokenizer *t = eg__tokenizer_new(op);
    if (!t) {
        return NULL;
    }
    eg_status st = take_pieces(op, t, file);
    st = st ? st : take_symbols(op, t);
    st = st ? st : take_steps(op, t, file->normalizer, file->training);
    st = st ? st : take_model(op, t, file->training);
    t->whole = t->of_file = true;
    st = st ? st : eg__tokenizer_finish(op, t);
    if (st) {
        eg_tokenizer_free(t);
    }
    return st ? NULL : t;
}

/* user: a bool, whether there was no memory. */
static void *counted_alloc(void *user, size_t bytes)
{
    void *p = eg__counted_alloc(bytes);
    *(bool *)user |= !p;
    return p;
}

static void counted_free(void *user, void *p)
{
    (void)user;
    eg__counted_free(p);
}

eg_tokenizer *eg__tokenizer_of_model(const char *op, const void *data, int64_t bytes)
{
    bool none = false;
    ProtobufCAllocator counted = {counted_alloc, counted_free, &none};
    if (eg__protobuf_open(op)) {
        return NULL;
    }
    EgSp__Model *file = eg_sp__model__unpack(&counted, (size_t)bytes, data);
    if (!file) {
        return none ? (eg__no_memory(op, bytes), NULL)
                    : eg__fail_null(EG_EFORMAT, op, "no tokenizer.json, and no model of SentencePiece");
    }
    eg_tokenizer *t = take(op, file);
    eg_sp__model__free_unpacked(file, &counted);
    return t;
}

#else

eg_tokenizer *eg__tokenizer_of_model(const char *op, const void *data, int64_t bytes)
{
    (void)data;
    (void)bytes;
    return eg__fail_null(EG_ENOKERNEL, op, "models of SentencePiece need protobuf-c, which this build has not");
}

#endif
