/* text.h - text for networks: normalised, split into words, words as numbers, rows of one length.
 *
 * A text is UTF-8, u8 [n]; what is none is EG_EFORMAT with the place. Words are what stands between
 * blanks, the characters with Unicode's property White_Space. */
#ifndef EGRET_DATA_TEXT_H
#define EGRET_DATA_TEXT_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- characters ----------------------------------------------------------------------------- */

/* u8 [length] from memory; a string that ends in 0. */
EG_API eg_tensor *eg_text(const char *s);

/* Unicode's normalisation forms (Annex 15). */
typedef enum eg_unicode_form { EG_UNICODE_KEEP, EG_NFC, EG_NFD, EG_NFKC, EG_NFKD } eg_unicode_form;

/* What is done, in this order. */
typedef struct eg_text_options {
    size_t size;
    eg_unicode_form form;
    const char *drop;  /* general categories left out: "Mn" (accents, after EG_NFD), "P Cc" */
    bool lower;        /* lower case as Python's str.lower() has it, with U+0130 and final sigma */
    const char *blank; /* these characters become blanks (Keras: filters) */
    const char *apart; /* these get a blank on each side */
    const char *only;  /* all but these, and those of `apart`, become blanks */
    bool trim;         /* runs of blanks become one, at the ends none */
} eg_text_options;

/* Through utf8proc: forms, categories and lower case are those of its Unicode version. EG_EINVAL
 * for a category that does not exist. */
EG_API eg_tensor *eg_text_normalise_with(eg_tensor *text, const eg_text_options *options);
#define eg_text_normalise(...)        EG_TEXT_NORMALISE_(__VA_ARGS__, )
#define EG_TEXT_NORMALISE_(text, ...) eg_text_normalise_with(text, EG_OPTIONS_(eg_text_options, __VA_ARGS__))

/* i64 [words, 2]: where each word begins and how many bytes it has. */
EG_API eg_tensor *eg_text_words(eg_tensor *text);

/* ---- words as numbers ----------------------------------------------------------------------- */

/* Words and how often each was met, in the order of first sight. */
typedef struct eg_word_counts eg_word_counts;

EG_API eg_word_counts *eg_word_counts_new(void);
/* NULL is fine. */
EG_API void eg_word_counts_free(eg_word_counts *c);
/* Counts the words of a text, all of them or, after a failure, none. */
EG_API eg_status eg_word_counts_add(eg_word_counts *c, eg_tensor *text);
/* Different words so far. */
EG_API int64_t eg_word_counts_size(const eg_word_counts *c);

/* Words numbered 0..size-1. */
typedef struct eg_vocabulary eg_vocabulary;

typedef struct eg_vocabulary_options {
    size_t size;
    const char *const *reserved; /* the first words, in this order, whether counted or not */
    int64_t reserved_count;
    int64_t min_count; /* words met less often are left out */
    int64_t max_size;  /* with the reserved ones; 0: no limit, EG_ZERO: 0; the most frequent stay */
    bool sorted;       /* numbered in the order of their bytes; else by falling count, then first sight */
} eg_vocabulary_options;

/* EG_EINVAL: a reserved word twice, empty or with blanks; max_size below the reserved ones, a negative min_count. */
EG_API eg_vocabulary *eg_vocabulary_new_with(const eg_word_counts *counts, const eg_vocabulary_options *options);
#define eg_vocabulary_new(...)          EG_VOCABULARY_NEW_(__VA_ARGS__, )
#define EG_VOCABULARY_NEW_(counts, ...) eg_vocabulary_new_with(counts, EG_OPTIONS_(eg_vocabulary_options, __VA_ARGS__))
/* A file of one word a line, number = line from 0; LF or CR LF. EG_EFORMAT naming the line: a word
 * twice, empty, with a 0, no UTF-8, over 100,000,000 bytes. */
EG_API eg_vocabulary *eg_vocabulary_load(const char *path);
/* Writes such a file as io.h says of writers. EG_EINVAL: a word that holds a line's end or a 0. */
EG_API eg_status eg_vocabulary_save(const eg_vocabulary *v, const char *path);
/* NULL is fine. */
EG_API void eg_vocabulary_free(eg_vocabulary *v);

/* How many words there are. */
EG_API int64_t eg_vocabulary_size(const eg_vocabulary *v);
/* The number of a word of `bytes` bytes, -1 if it is none. */
EG_API int64_t eg_vocabulary_id(const eg_vocabulary *v, const char *word, size_t bytes);
/* The word of a number, the vocabulary's; NULL and EG_EINDEX outside 0..size-1. */
EG_API const char *eg_vocabulary_word(const eg_vocabulary *v, int64_t id);

/* The numbers of a text's words, i64 [n]; those not known are `unknown`, or left out if that is
 * negative. */
EG_API eg_tensor *eg_vocabulary_encode(const eg_vocabulary *v, eg_tensor *text, int64_t unknown);
/* Words with blanks between, of integers [n]. EG_EINDEX for one outside 0..size-1. */
EG_API eg_tensor *eg_vocabulary_decode(const eg_vocabulary *v, eg_tensor *ids);

typedef struct eg_word_vectors_options {
    size_t size;
    bool binary;          /* as word2vec writes its binary files */
    eg_tensor *otherwise; /* f32 [words, n]: of words that the file does not have; NULL: zeros */
    eg_tensor **found;    /* bool [words]: those it has */
} eg_word_vectors_options;

/* Vectors of a vocabulary's words, f32 [words, n], out of a file of GloVe's (Pennington et al. 2014) or word2vec's
 * (Mikolov et al. 2013), plain or gzip: a word a line, its numbers behind it, with or without a first line that has how
 * many there are; words of texts may hold blanks. Of a word that comes twice the first is taken. EG_EFORMAT names line
 * or offset: too few numbers, or what is none; no vector at all; more than 65,536 numbers of one. EG_ESHAPE: otherwise
 * does not fit. */
EG_API eg_tensor *eg_word_vectors_load_with(const char *path, const eg_vocabulary *v,
                                            const eg_word_vectors_options *options);
#define eg_word_vectors_load(...) EG_WORD_VECTORS_LOAD_(__VA_ARGS__, )
#define EG_WORD_VECTORS_LOAD_(path, v, ...) \
    eg_word_vectors_load_with(path, v, EG_OPTIONS_(eg_word_vectors_options, __VA_ARGS__))

/* ---- rows of one length --------------------------------------------------------------------- */

typedef struct eg_pad_sequences_options {
    size_t size;
    int64_t maxlen; /* 0: the longest, EG_ZERO: 0 */
    bool pad_after; /* "post" padding; else values stand in front ("pre", Keras' default) */
    bool cut_after; /* "post" truncating: the first maxlen stay; else the last ones */
    double value;   /* of what is added */
} eg_pad_sequences_options;

/* n sequences [length, inner] of one dtype and inner shape as [n, maxlen, inner], as Keras'
 * pad_sequences does; no gradient. EG_EINVAL: n < 1; EG_ESHAPE, EG_EDTYPE name the one that
 * differs. */
EG_API eg_tensor *eg_pad_sequences_with(eg_tensor *const *sequences, int n, const eg_pad_sequences_options *options);
#define eg_pad_sequences(...) EG_PAD_SEQUENCES_(__VA_ARGS__, )
#define EG_PAD_SEQUENCES_(sequences, n, ...) \
    eg_pad_sequences_with(sequences, n, EG_OPTIONS_(eg_pad_sequences_options, __VA_ARGS__))

EG_END_DECLS

#endif
