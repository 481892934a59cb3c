/* corpus.h - pairs of sentences: read or made, cleaned, turned into numbers, padded. */
#ifndef EXAMPLES_NMT_CORPUS_H
#define EXAMPLES_NMT_CORPUS_H

#include <egret/egret.h>

enum { MOST_WORDS = 1000 }; /* of a sentence */

/* The words of a language, "<pad>" being number 0, and the most of them in a sentence. */
typedef struct language {
    eg_vocabulary *words;
    int64_t longest;
} language;

typedef struct corpus {
    int64_t pairs;
    language spanish, english;
    eg_tensor *sources, *targets; /* i64 [pairs, longest] of the language, 0 behind the end; kept */
} corpus;

/* The first `pairs` lines of spa.txt, or spa.txt.gz, in the folder, or where get_data put it: English, a tab,
 * Spanish, and maybe another tab with whatever. */
eg_status corpus_read(corpus *c, const char *folder, int64_t pairs);

/* The first `pairs` lines of two files, plain or .gz: line n of the second is the translation of line n of the
 * first. Lines behind the end of the shorter file are not read. */
eg_status corpus_read_files(corpus *c, const char *sources, const char *targets, int64_t pairs);

/* As many different sentences of a small grammar, drawn by the thread's random numbers. */
eg_status corpus_make(corpus *c, int64_t pairs);

/* Frees the tensors; the languages go on in a translator. */
void corpus_free(corpus *c);

/* A sentence as the network knows them: "¿Qué?" becomes "<start> ¿ que ? <end>". */
eg_tensor *corpus_clean(eg_tensor *text);

/* All the different words of a text, sorted, behind "<pad>". */
eg_vocabulary *corpus_words(eg_tensor *text);

/* All pairs in an order of chance: four fifths to learn from, the rest to be tested with. Samples are rows
 * of sources and targets. */
bool corpus_split(const corpus *c, eg_dataset **train, eg_dataset **test);

#endif
