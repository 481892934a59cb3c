/* listen.h - which words are in a long recording, and when (recognize_commands.cc): the scores of overlapping clips,
 * averaged, and no word twice at once. */
#ifndef EXAMPLES_SPEECH_LISTEN_H
#define EXAMPLES_SPEECH_LISTEN_H

#include "words.h"

typedef struct listen_options {
    const char *recording;
    int64_t stride, window, suppression; /* ms */
    int64_t least;                       /* scores of an average */
    double threshold;
} listen_options;

/* Says them a line each, "SECONDS WORD SCORE", the seconds of the middle of a clip, and draws the averages over time,
 * "heard.png". */
eg_status listen(eg_run *run, eg_module *net, const words *w, const listen_options *o);

#endif
