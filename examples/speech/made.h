/* made.h - words that nobody says, made of vowels: what there is to learn without files. */
#ifndef EXAMPLES_SPEECH_MADE_H
#define EXAMPLES_SPEECH_MADE_H

#include <egret/tensor.h>

enum { MADE_WORDS = 16 };

/* The words' names, as Speech Commands has them. */
extern const char *const made_words[MADE_WORDS];

/* How a voice says a word, another way each take: f32 [samples] of so many a second. */
eg_tensor *made_say(int word, int64_t voice, int64_t take, int64_t rate, int64_t samples);

#endif
