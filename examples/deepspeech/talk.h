/* talk.h - utterances and what was said: LibriSpeech's layout, LJ Speech's, or made up. */
#ifndef EXAMPLES_DEEPSPEECH_TALK_H
#define EXAMPLES_DEEPSPEECH_TALK_H

#include <egret/run.h>

enum { LETTERS = 28, BLANK = LETTERS, CLASSES, BINS = 161, RATE = 16000 };

typedef struct utterance {
    char *path, *text; /* path NULL: made up; text: a to z, ' and single blanks */
    int64_t length;    /* what it is sorted by: bytes, or letters */
} utterance;

/* A list of them, from the shortest on. */
typedef struct talk {
    utterance *all;
    int64_t count, room;
    eg_module *features; /* talk_features, another's */
} talk;

/* Reads what a folder has: metadata.csv with lines "ID|..|TEXT" beside wavs/ID.wav, or up to three folders down files
 * *.trans.txt with lines "ID TEXT" beside ID.flac. EG_EIO: neither. */
eg_status talk_read(talk *t, const char *folder);
/* `count` made up ones, the same each time; `others` are none of those. */
eg_status talk_make(talk *t, int64_t count, bool others);
/* Moves each `every`-th one to another list. */
eg_status talk_split(talk *t, int64_t every, talk *others);
void talk_free(talk *t);

/* Batches: features, f32 [N, frames, BINS], each bin with mean 0 and variance 1 over its utterance, zeros behind; how
 * many frames, i64 [N]; letters, i64 [N, longest] of 0..LETTERS-1, and how many, i64 [N]. To learn from they come in
 * order in the first epoch, then in any. The list must outlive it. */
eg_dataset *talk_batches(const talk *t, int64_t batch, bool learned, uint64_t seed);
/* The module these features are made by. */
eg_module *talk_features(void);
/* A file's features, [frames, BINS]. */
eg_tensor *talk_load(eg_module *features, const char *path);

/* Letters, of which those below 0 are none, as text; the caller frees it. */
char *talk_text(const int64_t *letters, int64_t n);
/* What a letter is a number of; -1: it is none. */
int talk_letter(char c);

/* The texts of a list as a dataset of sentences, for n-grams. */
eg_dataset *talk_sentences(const talk *t);

#endif
