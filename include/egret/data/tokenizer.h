/* tokenizer.h - texts as the numbers of their pieces, and back.
 *
 * A tokenizer takes a text, u8 [n] in UTF-8, apart: it finds added tokens ("[MASK]"), normalises what stands between
 * them, splits that into words, and these into the pieces of its vocabulary. Of each piece it tells the bytes of the
 * text that it stands for. Results are those of the programs that the files come from, to the byte: Hugging Face's
 * `tokenizers`, SentencePiece, BERT, tensor2tensor; but for characters that are newer than their tables, or utf8proc's.
 *
 * Regular expressions are in the syntax of Oniguruma, as in those files, and are matched by PCRE2: ^ and $ match at
 * lines, \h is a hexadecimal digit, [a-z&&[^b]] an intersection, [[:alpha:]] and \p{Han} sets of Unicode's properties,
 * a{,2} and a{2}+ intervals. What PCRE2 cannot match in the same way is refused with EG_EFORMAT when the tokenizer is
 * made: \X, \K, \C, calls and conditions, absent functions, lookbehinds without a fixed length, letters under (?i) that
 * are equal to several. Matches may be empty.
 *
 * Limits: the steps of a tokenizer may lengthen a text of n bytes to 64 n + 65,536 bytes, and its decoders what the ids
 * are written as; EG_EINVAL beyond. A match that takes more than 10,000,000 steps of PCRE2, or 64 MiB, is EG_EINVAL
 * with the name of the limit. Memory for files and texts counts towards eg_memory_limit.
 *
 * A tokenizer may be used by several threads at once. Where one is made: EG_ENOKERNEL where utf8proc is missing, or
 * PCRE2 for a regular expression that is not known. */
#ifndef EGRET_DATA_TOKENIZER_H
#define EGRET_DATA_TOKENIZER_H

#include <egret/data/text.h>

EG_BEGIN_DECLS

typedef struct eg_tokenizer eg_tokenizer;

/* ---- made from files ------------------------------------------------------------------------ */

/* From what the file is: tokenizer.json of Hugging Face, a model of SentencePiece (unigram or BPE), a vocabulary of
 * WordPiece (a word a line, one of them [UNK]; read as uncased), or of subtokens (words in quotes); from a folder its
 * tokenizer.json, else tokenizer.model, spiece.model, sentencepiece.bpe.model, else vocab.json with merges.txt, else
 * vocab.txt. EG_EFORMAT naming what is malformed, or what there is in it that is not known: nothing is left aside. */
EG_API eg_tokenizer *eg_tokenizer_load(const char *path);
/* NULL is fine. */
EG_API void eg_tokenizer_free(eg_tokenizer *t);

typedef struct eg_wordpiece_options {
    size_t size;
    bool cased;          /* keep case and accents */
    bool ideographs;     /* leave ideographs together */
    int64_t max_chars;   /* longer words are unknown; 0: 100 */
    const char *unknown; /* NULL: "[UNK]" */
    const char *prefix;  /* of pieces that continue a word, NULL: "##" */
} eg_wordpiece_options;

/* WordPiece over BERT's basic tokenizer (arXiv:1810.04805): controls are dropped, ideographs set apart, letters made
 * small and without accents, words split at blanks and punctuation; each word is the longest pieces from its begin, or
 * unknown. [CLS] and [SEP] come around texts if the vocabulary has them. The vocabulary is copied. EG_EINVAL: it lacks
 * the unknown word. */
EG_API eg_tokenizer *eg_wordpiece_new_with(const eg_vocabulary *v, const eg_wordpiece_options *options);
#define eg_wordpiece_new(...)     EG_WORDPIECE_NEW_(__VA_ARGS__, )
#define EG_WORDPIECE_NEW_(v, ...) eg_wordpiece_new_with(v, EG_OPTIONS_(eg_wordpiece_options, __VA_ARGS__))

typedef struct eg_word_tokenizer_options {
    size_t size;
    const char *pattern; /* a regular expression whose matches are the words; NULL: what stands between blanks */
    bool lower;
    const char *blank;   /* these characters become blanks first (Keras: filters) */
    const char *unknown; /* what other words become, a word of the vocabulary; NULL: they are left out */
} eg_word_tokenizer_options;

/* Whole words. Keras' Tokenizer is this with .lower, its filters, and a vocabulary that begins with a word for padding.
 */
EG_API eg_tokenizer *eg_word_tokenizer_new_with(const eg_vocabulary *v, const eg_word_tokenizer_options *options);
#define eg_word_tokenizer_new(...) EG_WORD_TOKENIZER_NEW_(__VA_ARGS__, )
#define EG_WORD_TOKENIZER_NEW_(v, ...) \
    eg_word_tokenizer_new_with(v, EG_OPTIONS_(eg_word_tokenizer_options, __VA_ARGS__))

typedef struct eg_byte_bpe_options {
    size_t size;
    const char *pattern; /* what texts are split by, NULL: GPT-2's */
    bool prefix;         /* a blank before texts that begin with none */
} eg_byte_bpe_options;

/* Byte-pair encoding of bytes (GPT-2), from its vocab.json and merges.txt. */
EG_API eg_tokenizer *eg_byte_bpe_new_with(const char *vocabulary, const char *merges,
                                          const eg_byte_bpe_options *options);
#define eg_byte_bpe_new(...) EG_BYTE_BPE_NEW_(__VA_ARGS__, )
#define EG_BYTE_BPE_NEW_(vocabulary, merges, ...) \
    eg_byte_bpe_new_with(vocabulary, merges, EG_OPTIONS_(eg_byte_bpe_options, __VA_ARGS__))

/* ---- learned from texts --------------------------------------------------------------------- */

typedef struct eg_bpe_train_options {
    size_t size;
    int64_t vocabulary;          /* how many tokens at most; 0: 30,000 */
    int64_t min_count;           /* pairs met less often are not joined */
    int64_t alphabet;            /* at most so many characters, the most frequent; 0: all */
    bool characters;             /* of characters in words (\w+|[^\w\s]+), not of bytes split as GPT-2's */
    const char *pattern;         /* of bytes: what texts are split by, NULL: GPT-2's */
    const char *unknown;         /* of characters: NULL is "[UNK]" */
    const char *const *specials; /* come first; `unknown` must be one of them */
    int64_t specials_count;
} eg_bpe_train_options;

/* Learns byte-pair encoding (arXiv:1508.07909) from n texts, with the vocabulary and merges that `tokenizers`'
 * BpeTrainer gives; of bytes its alphabet is all 256. eg_tokenizer_save writes it for others. */
EG_API eg_tokenizer *eg_bpe_train_with(eg_tensor *const *texts, int n, const eg_bpe_train_options *options);
#define eg_bpe_train(...)            EG_BPE_TRAIN_(__VA_ARGS__, )
#define EG_BPE_TRAIN_(texts, n, ...) eg_bpe_train_with(texts, n, EG_OPTIONS_(eg_bpe_train_options, __VA_ARGS__))

typedef struct eg_subtokens_options {
    size_t size;
    int64_t vocabulary; /* how many are wanted; 0: 32,768 */
    int64_t within;     /* so many more or less will do; 0: 327 */
    int64_t min_count;  /* subtokens met less often are left out; 0: searched for, between 1 and 1,000 */
} eg_subtokens_options;

/* The subtokens of tensor2tensor, which official/transformer has: words and what stands between them, escaped, end in
 * "_". Reserved are <pad>, 0, and <EOS>, 1. Texts are whole lines, blanks at whose ends do not count. */
EG_API eg_tokenizer *eg_subtokens_train_with(eg_tensor *const *texts, int n, const eg_subtokens_options *options);
#define eg_subtokens_train(...) EG_SUBTOKENS_TRAIN_(__VA_ARGS__, )
#define EG_SUBTOKENS_TRAIN_(texts, n, ...) \
    eg_subtokens_train_with(texts, n, EG_OPTIONS_(eg_subtokens_options, __VA_ARGS__))

/* As a tokenizer.json that others read too; subtokens in their own format, a line each in quotes. EG_EINVAL for one of
 * SentencePiece, or from a tokenizer.json: the file is there. */
EG_API eg_status eg_tokenizer_save(const eg_tokenizer *t, const char *path);

/* ---- asked ---------------------------------------------------------------------------------- */

/* How many ids there are, added tokens too: the largest and one. */
EG_API int64_t eg_tokenizer_size(const eg_tokenizer *t);
/* The id of a token, -1 if it is none. Tokens are written as in their file: "##ing", "\u0120the" for " the" in bytes.
 */
EG_API int64_t eg_tokenizer_id(const eg_tokenizer *t, const char *token, size_t bytes);
/* The token of an id, as it is written, the tokenizer's; NULL and EG_EINDEX where there is none. */
EG_API const char *eg_tokenizer_token(const eg_tokenizer *t, int64_t id);

typedef enum eg_special {
    EG_SPECIAL_PAD,
    EG_SPECIAL_UNKNOWN,
    EG_SPECIAL_CLS,
    EG_SPECIAL_SEP,
    EG_SPECIAL_MASK,
    EG_SPECIAL_BOS,
    EG_SPECIAL_EOS,
    EG_SPECIAL_COUNT
} eg_special;

/* The id of a special token, by its usual names ([PAD], <pad>, <s>, ...) or by its part in the file; -1: none is known.
 */
EG_API int64_t eg_tokenizer_special(const eg_tokenizer *t, eg_special which);
/* What comes around texts: words with blanks between, special tokens and $A and $B, each with :type behind it where
 * that is not 0: "[CLS] $A [SEP]" and "[CLS] $A [SEP] $B:1 [SEP]:1". pair NULL: the two texts behind each other.
 * EG_EINVAL: a token that is none, $A or $B missing. Not while another thread uses t. */
EG_API eg_status eg_tokenizer_frame(eg_tokenizer *t, const char *single, const char *pair);

/* ---- texts to ids --------------------------------------------------------------------------- */

typedef enum eg_truncation {
    EG_TRUNCATE_FILE,
    EG_TRUNCATE_LONGEST,
    EG_TRUNCATE_FIRST,
    EG_TRUNCATE_SECOND
} eg_truncation;

typedef struct eg_encode_options {
    size_t size;
    eg_tensor *pair;          /* a second text; not of a batch */
    bool pairs;               /* of a batch: texts belong together by twos */
    bool bare;                /* no special tokens around */
    bool plain;               /* special tokens that are written in the text are text */
    int64_t max_length;       /* with special tokens; 0: what the file says, EG_ZERO: no limit */
    eg_truncation truncation; /* which of a pair is cut: the file's, longest first; the first, the second */
    bool cut_front;           /* cut at the begin */
    bool windows;             /* what is cut becomes further rows, which share `stride` tokens with those before */
    int64_t stride;
    bool pad_front;       /* rows are padded at their begins */
    int64_t pad_to;       /* rows are at least so long; 0: what the file says */
    int64_t pad_multiple; /* their length is a multiple */
} eg_encode_options;

/* A text's tokens, n of them; of a batch, or with windows, rows [rows, n] of one length. All i64 but for the last two.
 */
typedef struct eg_tokens {
    eg_tensor *ids;     /* [n] */
    eg_tensor *offsets; /* [n, 2]: bytes [begin, end) of its text that each stands for; 0, 0 of special tokens around */
    eg_tensor *types;   /* [n]: of which text it is, 0 or 1, as the frame says */
    eg_tensor *words;   /* [n]: the number of its word in its text, -1 of special tokens around */
    eg_tensor *texts;   /* [rows]: the number of a row's text, or of its pair */
    eg_tensor *special; /* bool [n]: comes from around the text, or is padding */
    eg_tensor *mask;    /* bool [n]: is no padding */
} eg_tokens;

/* Borrowed from the scope; all NULL after a failure. EG_EFORMAT: no UTF-8, with the place. EG_EINVAL: max_length leaves
 * no room beside special tokens, or for the text that is to be cut; stride is not below what is left; a word is unknown
 * and there is no token for such; a limit is exceeded. */
EG_API eg_tokens eg_tokenizer_encode_with(const eg_tokenizer *t, eg_tensor *text, const eg_encode_options *options);
#define eg_tokenizer_encode(...) EG_TOKENIZER_ENCODE_(__VA_ARGS__, )
#define EG_TOKENIZER_ENCODE_(t, text, ...) \
    eg_tokenizer_encode_with(t, text, EG_OPTIONS_(eg_encode_options, __VA_ARGS__))

/* n texts at once, on all threads, rows in their order. Padding has the id that the file says, else that of
 * EG_SPECIAL_PAD, else 0. */
EG_API eg_tokens eg_tokenizer_encode_batch_with(const eg_tokenizer *t, eg_tensor *const *texts, int n,
                                                const eg_encode_options *options);
#define eg_tokenizer_encode_batch(...) EG_TOKENIZER_ENCODE_BATCH_(__VA_ARGS__, )
#define EG_TOKENIZER_ENCODE_BATCH_(t, texts, n, ...) \
    eg_tokenizer_encode_batch_with(t, texts, n, EG_OPTIONS_(eg_encode_options, __VA_ARGS__))

/* ---- ids to texts --------------------------------------------------------------------------- */

typedef struct eg_detokenize_options {
    size_t size;
    bool skip_specials; /* leave special tokens out */
} eg_detokenize_options;

/* The text of integers [n], u8; bytes that are no UTF-8 become U+FFFD. EG_EINDEX for an id outside 0..size-1;
 * EG_EINVAL: the decoders exceed the limit. */
EG_API eg_tensor *eg_tokenizer_decode_with(const eg_tokenizer *t, eg_tensor *ids, const eg_detokenize_options *options);
#define eg_tokenizer_decode(...) EG_TOKENIZER_DECODE_(__VA_ARGS__, )
#define EG_TOKENIZER_DECODE_(t, ids, ...) \
    eg_tokenizer_decode_with(t, ids, EG_OPTIONS_(eg_detokenize_options, __VA_ARGS__))

EG_END_DECLS

#endif
