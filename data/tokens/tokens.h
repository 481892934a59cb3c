/* tokens.h - what the files of this room share: a tokenizer, and the work of one thread with it.
 *
 * A text goes the way of Hugging Face's `tokenizers`, which all kinds fit: added tokens are found in it, what stands
 * between is normalised, split into pieces, the pieces become tokens by the model, and special tokens come around. At
 * each stage every byte knows the bytes of the original that it stands for. */
#ifndef EGRET_TOKENS_H
#define EGRET_TOKENS_H

#include <pthread.h>

#include <egret/data/tokenizer.h>
#include <egret/json.h>

#include "data/readers/bytes.h"
#include "data/tokens/trie.h"
#include "data/tokens/unicode.h"
#include "lib/core/counted.h"

typedef struct eg__step eg__step;
typedef struct eg__encoder eg__encoder;
typedef struct eg__pattern eg__pattern;

/* ---- the text under way --------------------------------------------------------------------- */

typedef struct eg__extent {
    uint32_t begin, end; /* bytes */
} eg__extent;

typedef struct eg__line {
    uint8_t *s;
    eg__extent *at; /* of each byte, in the original, unless straight */
    int64_t n, room, at_room;
    uint32_t base; /* where the line begins in the original */
    bool straight; /* byte i is byte base + i of the original */
    bool ascii;
} eg__line;

/* A piece of the line; or an added token. */
typedef struct eg__piece {
    uint32_t begin, end;
    int32_t added; /* -1: none */
} eg__piece;

typedef struct eg__token {
    int32_t id, word;
    uint32_t begin, end;  /* in the line, then in the original */
    uint32_t lead, trail; /* blanks at its ends, where these are left out */
} eg__token;

/* Of a piece: a symbol of BPE, or a place of unigrams. */
typedef struct eg__cell {
    uint32_t begin, bytes;
    int32_t before, behind, id, starts;
    double score;
} eg__cell;

/* Arrays that grow; the last failure of the work says if they could not. */
#define EG__ARRAY(type)   \
    struct {              \
        type *p;          \
        uint32_t n, room; \
    }

struct eg__encoder {
    const eg_tokenizer *t;
    eg_status st; /* why it failed, in words */
    char words[200];
    eg__line line, other;              /* other: what the line is rewritten into */
    EG__ARRAY(eg__piece) pieces, next; /* next: what pieces become */
    EG__ARRAY(eg__token) tokens;
    EG__ARRAY(int32_t) c; /* characters that the line becomes, and in how many they differ: see eg__rewrite */
    EG__ARRAY(int32_t) change;
    EG__ARRAY(eg__cell) cells; /* of a model */
    EG__ARRAY(uint64_t) heap;
    eg__line escaped;   /* of subtokens */
    int64_t most, done; /* bytes that all lines of the text may have, 0: any number; of those that are finished */
    uint32_t consumed;  /* by SentencePiece's normaliser: where what is left of the text ends */
    int32_t words_so_far;
    void *match; /* PCRE2's */
    struct eg__memo *memo;
    eg__encoder *next_idle;
};

/* Fails unless it has; fn of the pool's threads record nothing elsewhere. */
void eg__encoder_fail(eg__encoder *w, eg_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
bool eg__encoder_room(eg__encoder *w, void *array, uint32_t *room, uint64_t need, size_t element);
#define EG__ROOM(w, a, more)                 \
    ((a).n + (uint64_t)(more) <= (a).room || \
     eg__encoder_room(w, &(a).p, &(a).room, (a).n + (uint64_t)(more), sizeof *(a).p))

/* Limit of a tokenizer's steps: a text of n bytes may become EG__GROWTH * n + EG__GROWTH_FREE bytes. NFKD alone has a
 * factor of 11. */
enum { EG__GROWTH = 64, EG__GROWTH_FREE = 65536 };
static inline int64_t eg__growth_most(int64_t n)
{
    return n * EG__GROWTH + EG__GROWTH_FREE;
}

/* ---- lines (line.c) ------------------------------------------------------------------------- */

/* The line becomes these bytes of the original. */
void eg__line_set(eg__encoder *w, const uint8_t *s, int64_t n, uint32_t base);
/* Gives each byte its place. */
void eg__line_spread(eg__encoder *w);
bool eg__line_room(eg__encoder *w, eg__line *l, int64_t n);
/* Adds a character to what the line becomes. change 1: it is new, and stands for what the one before it does; 0: it
 * stands for the next character of the line; -k: and k more are left out behind that. */
static inline void eg__becomes(eg__encoder *w, int32_t c, int32_t change)
{
    if (EG__ROOM(w, w->c, 1) && EG__ROOM(w, w->change, 1)) {
        w->c.p[w->c.n++] = c;
        w->change.p[w->change.n++] = change;
    }
}
/* Makes the line of these characters, behind `removed` bytes that are left out at its begin. */
void eg__rewrite(eg__encoder *w, int64_t removed);
/* Copies bytes [begin, end) of the line behind the other one. */
void eg__line_copy(eg__encoder *w, int64_t begin, int64_t end);
/* Puts bytes there that stand for what is at. */
void eg__line_put(eg__encoder *w, const void *s, int64_t n, eg__extent at);
/* Begins the other one; makes it the line. */
void eg__line_begin(eg__encoder *w, int64_t n);
void eg__line_end(eg__encoder *w);
/* What bytes [begin, end) stand for. */
static inline eg__extent eg__extent_of(const eg__line *l, uint32_t begin, uint32_t end)
{
    if (!l->straight) {
        const uint32_t last = begin < l->n ? l->at[begin].begin : l->n ? l->at[l->n - 1].end : l->base;
        return end > begin ? (eg__extent){l->at[begin].begin, l->at[end - 1].end} : (eg__extent){last, last};
    }
    while (begin > 0 && begin < l->n && (l->s[begin] & 0xc0) == 0x80) {
        begin--;
    }
    while (end < l->n && (l->s[end] & 0xc0) == 0x80) {
        end++;
    }
    return (eg__extent){l->base + begin, l->base + end};
}

/* ---- patterns ------------------------------------------------------------------------------- */

/* The next match in s at or behind *begin, bytes [*begin, *end); false: none, or the work failed. */
typedef bool eg__scan(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, int64_t *begin, int64_t *end);
struct eg__pattern {
    eg__scan *scan;
    char *text; /* as it was given */
    int64_t bytes;
    void *code; /* PCRE2's */
};

#define EG__GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* The matches of a pattern in a text, one after another. */
typedef struct eg__matches {
    int64_t from, last; /* where to search on; where the last match ended, -1: nowhere */
    int64_t begin, end; /* of the match */
} eg__matches;
#define EG__MATCHES ((eg__matches){.last = -1})
/* The next one; false: there is none, or the work failed. A text of 0 bytes has none. Matches may be empty, but not
 * where the one before ended, so that the search always advances. */
bool eg__next_match(eg__encoder *w, const eg__pattern *p, const uint8_t *s, int64_t n, eg__matches *m);

/* A regular expression in Oniguruma's syntax: by hand where it is known, else by PCRE2. */
eg__pattern *eg__pattern_new(const char *op, const char *text, int64_t bytes);
/* These bytes themselves. */
eg__pattern *eg__pattern_literal(const char *op, const char *text, int64_t bytes);
/* \w+|[^\w\s]+ as Rust's `regex` reads it, where joiners belong to words. */
eg__pattern *eg__pattern_words(const char *op);
bool eg__is_pattern_words(const eg__pattern *p);
void eg__pattern_free(eg__pattern *p);
/* regex.c: sets code and scan. */
eg_status eg__regex_new(const char *op, eg__pattern *p);
void eg__regex_free(void *code);
void eg__regex_match_free(void *match);

/* ---- steps: normalisers, splitters, decoders ------------------------------------------------ */

typedef enum eg__behaviour {
    EG__ISOLATED,
    EG__REMOVED,
    EG__MERGED_BEFORE,
    EG__MERGED_BEHIND,
    EG__TOGETHER
} eg__behaviour;

typedef struct eg__string {
    char *s; /* a 0 behind it */
    int64_t n;
} eg__string;

typedef struct eg__charsmap eg__charsmap;
/* Texts that a decoder changes, each UTF-8. */
typedef struct eg__parts {
    eg__bytes text;
    int64_t most; /* bytes that there may be; 0: as many as have numbers */
    EG__ARRAY(eg__extent) part;
} eg__parts;

typedef void eg__pass(eg__encoder *w, const eg__step *s);
typedef eg_status eg__decode(const char *op, const eg__step *s, const eg__parts *from, eg__parts *to);
struct eg__step {
    const eg_tokenizer *of; /* of a decoder that searches */
    eg__pass *pass;
    eg__decode *decode;
    eg__string text, more;
    eg__pattern *pattern;
    eg__charsmap *map;
    eg__behaviour behaviour;
    int64_t number, count;
    bool a, b, c, d; /* what they mean is the step's own */
};

typedef EG__ARRAY(eg__step) eg__steps;

/* normal.c: their options are said there. */
eg__pass eg__normal_bert, eg__normal_form, eg__normal_lower, eg__normal_strip, eg__normal_accents, eg__normal_replace,
    eg__normal_prepend, eg__normal_charsmap, eg__normal_nmt, eg__normal_blanks, eg__normal_sentencepiece;
/* split.c */
eg__pass eg__split_bert, eg__split_blanks, eg__split_pattern, eg__split_bytes, eg__split_metaspace,
    eg__split_punctuation, eg__split_digits, eg__split_alike;
/* decode.c */
eg__decode eg__decode_wordpiece, eg__decode_bytes, eg__decode_metaspace, eg__decode_suffix, eg__decode_fallback,
    eg__decode_fuse, eg__decode_replace, eg__decode_strip, eg__decode_ctc, eg__decode_words, eg__decode_pieces,
    eg__decode_subtokens;

/* charsmap.c */
eg__charsmap *eg__charsmap_new(const char *op, const void *data, int64_t bytes);
void eg__charsmap_free(eg__charsmap *m);
/* What the first, or the longest, rule that begins at s makes; its bytes in *from, what it makes in *n. NULL: no rule
 * does. */
const uint8_t *eg__charsmap_at(const eg__charsmap *m, const uint8_t *s, int64_t left, bool longest, int64_t *from,
                               int64_t *n);

/* ---- models --------------------------------------------------------------------------------- */

/* As SentencePiece numbers them. */
enum {
    EG__NORMAL_PIECE = 1,
    EG__UNKNOWN_PIECE,
    EG__CONTROL_PIECE,
    EG__USER_PIECE,
    EG__UNUSED_PIECE,
    EG__BYTE_PIECE,
};

typedef enum eg__model_kind { EG__WORDS, EG__WORDPIECE, EG__BPE, EG__UNIGRAM, EG__SUBTOKENS } eg__model_kind;

typedef struct eg__merge {
    uint64_t pair; /* left << 32 | right; 0 and rank -1: none */
    int32_t rank, id;
} eg__merge;

typedef struct eg__model eg__model;
/* Adds the tokens of a piece to the work's, their places within it. */
typedef void eg__model_fn(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n);
struct eg__model {
    eg__model_kind kind;
    eg__model_fn *run;
    eg__trie trie;     /* of all pieces */
    int32_t unknown;   /* -1: none */
    int64_t max_chars; /* of a word, WordPiece */
    int32_t behind;    /* node of the prefix of what continues a word */
    eg__string prefix, suffix, unknown_text;
    bool loses;                 /* BPE of bytes: some have no token, and there is none for what is unknown */
    bool bytes;                 /* BPE: pieces are bytes, written as ByteLevel does */
    bool fuse, whole, fallback; /* unknowns become one; a piece that is a token is not split; <0x..> for unknowns */
    int32_t byte[256];          /* ids of single bytes: of BPE by bytes, or of <0x..> */
    eg__merge *merge;
    uint32_t merges, slots; /* a power of two */
    double *score;
    uint8_t *type; /* of SentencePiece's pieces */
    double unknown_score, max_score;
    bool single;      /* sums are f32 */
    bool scored;      /* BPE: pairs go by the score of what they become */
    bool users;       /* there are symbols of the user's */
    bool silent;      /* what is not known is left out */
    bool ready_bytes; /* all of byte[] are there */
};

eg__model_fn eg__model_words, eg__model_wordpiece, eg__model_bpe, eg__model_bpe_scored, eg__model_unigram,
    eg__model_subtokens;
static inline void eg__emit(eg__encoder *w, int32_t id, int64_t begin, int64_t end)
{
    if (EG__ROOM(w, w->tokens, 1)) {
        w->tokens.p[w->tokens.n++] = (eg__token){id, 0, (uint32_t)begin, (uint32_t)end, 0, 0};
    }
}
/* Returns whether byte fallback is on and the vocabulary has tokens <0x..> for all of these bytes. */
bool eg__has_bytes(const eg__model *m, const uint8_t *s, int64_t n);
void eg__memo_free(struct eg__memo *memo);
void eg__model_free(eg__model *m);
/* The tokens of a piece, from the cache if it was met lately. */
void eg__model_apply(eg__encoder *w, const eg__model *m, const uint8_t *s, int64_t n);
eg_status eg__merges_put(eg__model *m, const char *op, int32_t left, int32_t right, int32_t rank, int32_t id);
const eg__merge *eg__merge_of(const eg__model *m, int32_t left, int32_t right);

/* The character by which ByteLevel writes a byte, and back: -1 for one that stands for none. */
int32_t eg__byte_character(uint8_t b);
int eg__character_byte(int32_t c);

/* ---- a tokenizer ---------------------------------------------------------------------------- */

typedef struct eg__added {
    eg__string text;
    int32_t id;
    bool special, single_word, left, right, normalised;
    bool changed; /* the text is not as it was given: it was normalised */
} eg__added;

typedef struct eg__frame_item {
    int32_t id; /* EG__TEXT_A, EG__TEXT_B, or a special token's */
    int32_t type;
} eg__frame_item;
enum { EG__TEXT_A = -1, EG__TEXT_B = -2, EG__IDS_MOST = 1 << 24 };
/* Most items of a frame, and the longest rows that a file may ask for. */
enum { EG__FRAME_MOST = 1 << 12, EG__PAD_MOST = 1 << 20 };
typedef EG__ARRAY(eg__frame_item) eg__frame;

typedef struct eg__vocab {
    eg__bytes text;
    EG__ARRAY(eg__extent) piece; /* in the text; end < begin: the number has none */
    int64_t most;                /* numbers are below it; 0: below EG__IDS_MOST */
} eg__vocab;

struct eg_tokenizer {
    eg__vocab vocab; /* text by number, added tokens too */
    eg__steps normal, split, decode;
    eg__model model;
    EG__ARRAY(eg__added) added;
    eg__trie before, behind; /* added tokens to find before normalising, and behind it */
    int32_t *added_of;       /* by id: the added token, -1 */
    bool first[256];         /* whether one of `before` begins with this byte */
    eg__frame single, pair;
    bool of_file;               /* tokenizer.json, or a model of SentencePiece */
    bool whole;                 /* added tokens are the model's business: nothing is cut out of texts */
    bool trim, trim_prefix;     /* of offsets: blanks at the ends, as ByteLevel; but for the prefix */
    int64_t max_length, stride; /* of the file; 0: none */
    int truncation;
    bool cut_front, pad, pad_front;
    int64_t pad_length, pad_multiple;
    int32_t pad_id, pad_type;
    int32_t names[EG_SPECIAL_COUNT]; /* of special ids, -1 */
    pthread_mutex_t lock;
    eg__encoder *idle;
};

eg_tokenizer *eg__tokenizer_new(const char *op);
/* Longest texts that a tokenizer takes from its file: a token, and what a step searches for or puts in. */
enum { EG__PIECE_MOST = 8192, EG__TEXT_MOST = 16384 };
/* All text that comes from a file, or from the caller, passes here before it is kept: EG_EFORMAT unless it is UTF-8 of
 * at most `most` bytes. */
eg_status eg__check_text(const char *op, const char *what, const void *s, int64_t n, int64_t most);
/* A file has so many tokens more: their numbers may leave gaps, but no more than are in proportion. */
static inline void eg__vocab_expect(eg__vocab *v, int64_t tokens)
{
    v->most += (v->most ? 0 : 65536) + 8 * tokens;
}
/* Numbers a text; EG_EFORMAT where the number is taken by another. */
eg_status eg__vocab_put(eg__vocab *v, const char *op, int64_t id, const void *s, int64_t n);
eg_status eg__string_set(eg__string *to, const char *op, const void *s, int64_t n);
/* A zeroed one more; NULL with words. */
eg__step *eg__steps_add(const char *op, eg__steps *steps);
eg__added *eg__added_add(const char *op, eg_tokenizer *t, const char *s, int64_t n, int32_t id);
eg_status eg__frame_add(const char *op, eg_tokenizer *t, bool pair, int32_t id, int32_t type);
/* The trie of all that the vocabulary has; tries of added tokens; names of special ids. After all is there. */
eg_status eg__tokenizer_finish(const char *op, eg_tokenizer *t);
eg_status eg__model_trie(const char *op, eg_tokenizer *t);
/* The id of a text, added tokens too; -1. */
int32_t eg__tokenizer_find(const eg_tokenizer *t, const void *s, int64_t n);
/* What rows are padded with. */
int64_t eg__pad_id(const eg_tokenizer *t);

eg__encoder *eg__encoder_take(const eg_tokenizer *t);
void eg__encoder_give(eg__encoder *w);
void eg__encoder_free(eg__encoder *w);
/* The tokens of a text behind those there are, in places of the text. */
void eg__tokenize(eg__encoder *w, const uint8_t *s, int64_t n, bool plain);
/* What a token stands for without the blanks at its ends, each counted as one character, as ByteLevel's post-processor
 * has it. first: of its text in the row, so that the blank that was put in front is none. */
eg__extent eg__token_trimmed(const eg_tokenizer *t, const uint8_t *text, int64_t n, const eg__token *x, bool first);
/* Normalises and splits alone: the pieces of the line. */
void eg__prepare(eg__encoder *w, bool plain);

/* ---- making ---------------------------------------------------------------------------------- */

/* Numbers by text, of an object. */
eg_status eg__vocab_of_json(const char *op, eg_tokenizer *t, const eg_json *vocab);
/* Behind the trie. A merge is of two pieces that are there, and makes one that is. */
eg_status eg__merge_add(const char *op, eg_tokenizer *t, const char *a, int64_t na, const char *b, int64_t nb);
/* BPE of bytes: ids of all that are there; its steps, pattern NULL: GPT-2's. */
eg_status eg__bytes_model(const char *op, eg_tokenizer *t);
eg_status eg__bytes_steps(const char *op, eg_tokenizer *t, const char *pattern, bool prefix);
/* Ids of <0x00> to <0xFF>, -1 where there is none. */
void eg__model_fallback(eg__model *m);
/* Room for scores, 0. */
eg_status eg__model_scores(const char *op, eg_tokenizer *t);

/* The readers of eg_tokenizer_load. */
eg_tokenizer *eg__tokenizer_of_json(const char *op, const eg_json *j);
eg_tokenizer *eg__tokenizer_of_model(const char *op, const void *data, int64_t bytes);
eg_tokenizer *eg__tokenizer_of_subtokens(const char *op, const void *data, int64_t bytes);

#endif
