/* words.h - clips of a word each, and which word it is: the data of speech commands (Warden 2018), split as it is
 * published. */
#ifndef EXAMPLES_SPEECH_WORDS_H
#define EXAMPLES_SPEECH_WORDS_H

#include <egret/run.h>

typedef enum words_part { WORDS_LEARNED, WORDS_VALID, WORDS_TEST, WORDS_PARTS } words_part;

enum { WORDS_SILENCE, WORDS_UNKNOWN, WORDS_WANTED, WORDS_CLASSES_MAX = 64 };

typedef struct words_options {
    const char *wanted;      /* between commas: the classes behind silence and unknown */
    double silence, unknown; /* so many of each, in percent of the clips of wanted words */
    double validation, test; /* percent of the speakers */
    double volume, often;    /* the most of a noise that is added, and how often one is */
    int64_t rate, clip;      /* samples a second; ms of a clip */
    double shift;            /* by how many ms it is moved either way */
    double frame, hop;       /* ms of what is transformed at a time, and from one to the next */
    int64_t bands;           /* features of a frame */
    const char *features;    /* "mfcc" or "average" */
    int64_t voices;          /* that are made up, where there are no files */
} words_options;

typedef struct words words;

/* Those in a folder, FOLDER/WORD/SPEAKER_nohash_TAKE.wav, and noises in FOLDER/_background_noise_; or NULL: made up
 * ones. The run frees it. NULL after a failure, which is the run's. */
words *words_open(eg_run *run, const char *folder, const words_options *o);

/* What the classes are called, "_silence_" and "_unknown_" first. */
const char *const *words_labels(const words *w, int *count);
/* Samples and frames of a clip, features of a frame, ms from frame to frame. */
int64_t words_samples(const words *w);
int64_t words_frames(const words *w);
int64_t words_width(const words *w);
double words_hop(const words *w);
/* Clips of a part; and all of it as a dataset of features, f32 [1, frames, width], and classes, i64 []. Clips to learn
 * from are moved and have noise added by chance. */
int64_t words_count(const words *w, words_part part);
eg_dataset *words_dataset(const words *w, words_part part, uint64_t seed);

/* The features of a sound of any length, [samples] of this rate: [frames, width]. */
eg_tensor *words_features(const words *w, eg_tensor *sound);
/* A file as [samples], mono, of this rate. */
eg_tensor *words_load(const words *w, const char *path);
/* The part that a file belongs to: its name without "_nohash_" and what follows, hashed by SHA-1, so that no speaker is
 * in two and nothing changes when files are added (input_data.py). */
words_part words_part_of(const char *name, double validation, double test);

/* Fetches the published clips into the folder, from where `url` says (NULL: their publisher). */
eg_status words_get(const char *folder, const char *url, void *user);

#endif
