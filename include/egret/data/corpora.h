/* corpora.h - texts with what is known of them, as datasets: columns of tags, questions and answers, pairs.
 *
 * Patterns, failures and texts are as in readers.h. Where a sample is a sentence whose words stand in rows of a file,
 * a column of texts is one text with a blank between the words, as eg_vocabulary_encode reads it; a blank within a
 * word becomes "_". */
#ifndef EGRET_DATA_CORPORA_H
#define EGRET_DATA_CORPORA_H

#include <egret/data/readers.h>
#include <egret/data/text.h>

EG_BEGIN_DECLS

/* ---- words in columns ----------------------------------------------------------------------- */

typedef struct eg_conll_options {
    size_t size;
    char separator; /* of columns; 0: blanks and tabs, any number */
    bool comments;  /* lines that begin with "#" are passed over */
    eg_utf8_policy invalid;
} eg_conll_options;

/* Sentences as the tasks of CoNLL have them (Tjong Kim Sang and Buchholz 2000): a word a line, an empty line behind
 * each sentence, plain or gzip. Samples are a tensor for each of the n columns asked for, by `at`, from -1 down counted
 * from the last: texts, or numbers [words]; `optional` stands for empty fields and "_". Lines that begin with
 * -DOCSTART- are left out. EG_EFORMAT: a line has no such column, or no such number; the next sentence can be read. */
EG_API eg_dataset *eg_conll_new_with(const char *pattern, const eg_column *columns, int n,
                                     const eg_conll_options *options);
#define eg_conll_new(...) EG_CONLL_NEW_(__VA_ARGS__, )
#define EG_CONLL_NEW_(pattern, columns, n, ...) \
    eg_conll_new_with(pattern, columns, n, EG_OPTIONS_(eg_conll_options, __VA_ARGS__))

typedef struct eg_conllu_options {
    size_t size;
    bool surface; /* what stands for several words, "3-4", is there instead of them */
    bool empty;   /* words that are not in the text, "5.1", are there too */
    eg_utf8_policy invalid;
} eg_conllu_options;

/* The same of Universal Dependencies' CoNLL-U, whose columns have names: id, form, lemma, upos, xpos, feats, head,
 * deprel, deps, misc. Any other name is that of a comment, "# sent_id = ...", a text of its own, empty if it is
 * `optional` and not there. EG_EFORMAT also: not ten columns between tabs, or words that are not numbered 1, 2, ... */
EG_API eg_dataset *eg_conllu_new_with(const char *pattern, const eg_column *columns, int n,
                                      const eg_conllu_options *options);
#define eg_conllu_new(...) EG_CONLLU_NEW_(__VA_ARGS__, )
#define EG_CONLLU_NEW_(pattern, columns, n, ...) \
    eg_conllu_new_with(pattern, columns, n, EG_OPTIONS_(eg_conllu_options, __VA_ARGS__))

/* ---- questions ------------------------------------------------------------------------------ */

/* A file of SQuAD's, version 1.1 or 2.0 (Rajpurkar et al. 2016, 2018): samples are the question's id, its context and
 * itself, texts; the places where the k answers begin, i64 [k], in bytes of the context, -1 for one that does not stand
 * there; and the answers, u8 [k, longest], with zeros behind the shorter ones. k is 0 where there is none
 * (is_impossible). All of the file is in memory. EG_EFORMAT names the member that is not as it should be. */
EG_API eg_dataset *eg_squad_new(const char *path);

/* ---- sentences ------------------------------------------------------------------------------ */

/* The tasks of GLUE (Wang et al. 2018). Of classes with words, their numbers are in the order of these. */
typedef enum eg_glue_task {
    EG_GLUE_COLA, /* a sentence, 1: acceptable */
    EG_GLUE_SST2, /* a sentence, 1: positive */
    EG_GLUE_MRPC, /* two, 1: of the same meaning */
    EG_GLUE_QQP,  /* two questions, 1: of the same meaning */
    EG_GLUE_STSB, /* two, f32 from 0 to 5: how alike they are */
    EG_GLUE_MNLI, /* two, contradiction, entailment, neutral */
    EG_GLUE_QNLI, /* a question and a sentence, entailment, not_entailment */
    EG_GLUE_RTE,  /* two, entailment, not_entailment */
    EG_GLUE_WNLI, /* two, 1: the second follows */
} eg_glue_task;

/* Their files of values between tabs, in which quotes are characters like others: samples are one or two texts and the
 * label, i64 []. Columns go by the names in the first line; without a line of names, as in CoLA's, by where they stand
 * in the task's files for training. Labels of files for testing, which have none, are -1. EG_EFORMAT: a column is
 * missing, no such label. */
EG_API eg_dataset *eg_glue_new(const char *pattern, eg_glue_task task);

/* Lines of the same number of two texts, which are patterns each: samples are a line of the first and one of the
 * second. EG_EFORMAT ends the pass where one has more lines than the other. */
EG_API eg_dataset *eg_parallel_text_new(const char *first, const char *second);

/* ---- ids ------------------------------------------------------------------------------------ */

typedef struct eg_token_windows_options {
    size_t size;
    bool last;       /* what is left at the end of the parts is a shorter window */
    bool rows_first; /* samples are [rows, steps] */
    int rank, ranks; /* the parts are the rank-th `rows` of ranks * rows, for eg_dataset_distribute; ranks 0: 1 */
} eg_token_windows_options;

/* A text, integers [n], in `rows` parts that are read side by side, in windows of so many steps one behind the other:
 * samples are [steps, rows] and the same moved on by one. EG_EINVAL: there is not
 * enough for one, or rows or steps are below 1. */
EG_API eg_dataset *eg_token_windows_new_with(eg_tensor *ids, int64_t rows, int64_t steps,
                                             const eg_token_windows_options *options);
#define eg_token_windows_new(...) EG_TOKEN_WINDOWS_NEW_(__VA_ARGS__, )
#define EG_TOKEN_WINDOWS_NEW_(ids, rows, steps, ...) \
    eg_token_windows_new_with(ids, rows, steps, EG_OPTIONS_(eg_token_windows_options, __VA_ARGS__))

/* ---- masked language models ----------------------------------------------------------------- */

/* What the words of a vocabulary are to those that hide some, u8 [words]: 1 for those that begin with `prefix`, "##" of
 * BERT, and so go on with the word before them; 2 for the n special ones, which are never hidden; else 0. EG_EINVAL: a
 * special word is not in the vocabulary. */
EG_API eg_tensor *eg_vocabulary_pieces(const eg_vocabulary *v, const char *prefix, const char *const *special, int n);

typedef struct eg_mask_tokens_options {
    size_t size;
    double share; /* of the ids that are hidden; 0: 0.15, EG_ZERO: 0 */
    int64_t most; /* hidden ids; 0: any number */
    bool whole;   /* words are hidden with all their pieces, or not at all */
} eg_mask_tokens_options;

/* Hides some of the ids, i64 [n], as BERT is trained (Devlin et al. 2019, create_pretraining_data.py): of the share,
 * rounded, but at least one, 8 in 10 become `mask`, 1 stays as it is, and 1 becomes any word of the vocabulary. pieces
 * says what these are. `hidden` are the ids after that, `labels` what was there where some are hidden, else -1. By
 * the thread's random numbers, so in a map of a dataset by its seed. EG_EINDEX: an id is none of pieces. */
EG_API eg_status eg_mask_tokens_with(eg_tensor *ids, eg_tensor *pieces, int64_t mask, eg_tensor **hidden,
                                     eg_tensor **labels, const eg_mask_tokens_options *options);
#define eg_mask_tokens(...) EG_MASK_TOKENS_(__VA_ARGS__, )
#define EG_MASK_TOKENS_(ids, pieces, mask, hidden, labels, ...) \
    eg_mask_tokens_with(ids, pieces, mask, hidden, labels, EG_OPTIONS_(eg_mask_tokens_options, __VA_ARGS__))

typedef struct eg_sentence_pairs_options {
    size_t size;
    int64_t length;     /* of a sample at most; 0: 128 */
    double short_share; /* of documents whose samples are shorter, by any number; 0: 0.1, EG_ZERO: 0 */
    uint64_t seed;      /* each pass has its own pairs */
} eg_sentence_pairs_options;

/* Pairs of pieces of texts, of which a net says whether the second follows the first (create_pretraining_data.py):
 * samples are begin, first, end, second, end as i64 [n]; 0 for the first three of these, 1 for the others, i64 [n]; and
 * 1 if the second is from somewhere else, which half of them are, else 0, i64 []. ids are all sentences one behind the
 * other, `sentences` the number of ids of each, `documents` the number of sentences of each document, all integers [k].
 * EG_EINVAL: numbers that do not go together; no document; an empty one, or an empty sentence; a length below 5. */
EG_API eg_dataset *eg_sentence_pairs_new_with(eg_tensor *ids, eg_tensor *sentences, eg_tensor *documents, int64_t begin,
                                              int64_t end, const eg_sentence_pairs_options *options);
#define eg_sentence_pairs_new(...) EG_SENTENCE_PAIRS_NEW_(__VA_ARGS__, )
#define EG_SENTENCE_PAIRS_NEW_(ids, sentences, documents, begin, end, ...) \
    eg_sentence_pairs_new_with(ids, sentences, documents, begin, end,      \
                               EG_OPTIONS_(eg_sentence_pairs_options, __VA_ARGS__))

EG_END_DECLS

#endif
