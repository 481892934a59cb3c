/* problem.h - how what draws, and the plumbing of programs, tells what went wrong: in words.
 *
 * A function that can fail takes a `problem *` last, returns false or NULL, and leaves one sentence
 * there that names the thing and the reason. The program prints it and chooses its exit status. */
#ifndef DRAW_PROBLEM_H
#define DRAW_PROBLEM_H

#include <stdbool.h>

#if defined(__GNUC__)
#define PROBLEM_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define PROBLEM_FORMAT
#endif

typedef struct problem {
    char text[512]; /* one sentence without a newline, cut to fit */
} problem;

/* Writes the sentence and returns false, so that `return problem_say(why, "...")` explains and
 * fails at once. `why` may be NULL when nobody wants to know. */
bool problem_say(problem *why, const char *format, ...) PROBLEM_FORMAT;

#endif
