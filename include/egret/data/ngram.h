/* ngram.h - language models of n-grams: how likely a word is behind the few before it.
 *
 *     eg_ngram *lm = eg_ngram_train(eg_text_lines_new("sentences.txt"), 3);
 *     double p = exp(eg_ngram_score(lm, (int64_t[]){eg_ngram_id(lm, "the", 3), eg_ngram_id(lm, "cat", 3)}, 2));
 *     eg_ngram_save(lm, "sentences.arpa");
 *
 * Files are of the ARPA format that SRILM, KenLM and others read and write (Stolcke 2002). Words are UTF-8 without
 * blanks; a sentence begins with <s>, which is never said itself, and ends with </s>; <unk> is any other word. What
 * only reads may be done by several threads at once. */
#ifndef EGRET_DATA_NGRAM_H
#define EGRET_DATA_NGRAM_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_dataset eg_dataset;
typedef struct eg_ngram eg_ngram;

/* ---- making ---------------------------------------------------------------------------------- */

/* Of a file, or its bytes. EG_EFORMAT with the line: no such file, an order above 16, counts that are not those of the
 * lines, an n-gram twice or whose beginning is not there, a logarithm above 0 or no number. The caller frees it. */
EG_API eg_ngram *eg_ngram_load(const char *path);
EG_API eg_ngram *eg_ngram_parse(const void *data, size_t bytes);
/* Of sentences, the first tensors of the samples, u8 [n]: n-grams up to `order`, 1..16. Interpolated (Witten and Bell
 * 1991): p(w|h) = (c(hw) + t(h) p(w|h')) / (c(h) + t(h)), where c counts, t(h) is how many different words there are
 * behind h, h' is h without its first word; without a history p' is even over all words and <unk>. Frees the dataset,
 * in any case. EG_EINVAL: an order out of range, no sentence; as walking the dataset. */
EG_API eg_ngram *eg_ngram_train(eg_dataset *sentences, int order);
/* NULL is fine. */
EG_API void eg_ngram_free(eg_ngram *lm);
/* An ARPA file, as io.h says of writers. Logarithms are written with 6 decimals. */
EG_API eg_status eg_ngram_save(const eg_ngram *lm, const char *path);

/* ---- asking ---------------------------------------------------------------------------------- */

EG_API int eg_ngram_order(const eg_ngram *lm);
/* How many n-grams of n words there are. */
EG_API int64_t eg_ngram_count(const eg_ngram *lm, int n);
/* The word's number; of one that is not there <unk>'s, or -1 if there is none of that either. */
EG_API int64_t eg_ngram_id(const eg_ngram *lm, const char *word, size_t bytes);
/* log p of the last of n words, natural, behind those before it, of which the last order - 1 count; -INFINITY for a
 * number below 0 or that is no word's. 0, with EG_EINVAL on record, for a NULL or n below 1. */
EG_API double eg_ngram_score(const eg_ngram *lm, const int64_t *words, int64_t n);
/* log p of a whole sentence with its end, words between blanks. `words` becomes how many that were, the end too:
 * exp(-log p / words) is its perplexity. NaN after a failure: EG_EFORMAT, no UTF-8. */
EG_API double eg_ngram_sentence(const eg_ngram *lm, const char *text, int64_t *words);

EG_END_DECLS

#endif
