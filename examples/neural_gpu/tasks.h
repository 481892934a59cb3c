/* tasks.h - what an algorithm is learned from: pairs of tapes, made by a program that knows how (Kaiser and Sutskever
 * 2015). */
#ifndef EXAMPLES_NEURAL_GPU_TASKS_H
#define EXAMPLES_NEURAL_GPU_TASKS_H

#include <stdint.h>

enum { SYMBOLS = 16, BLANK = 0 }; /* digit d is the symbol d + 1, an operator the one behind the last digit */

typedef struct task {
    const char *name, *about;
    int base;               /* of its digits */
    int per_digit, besides; /* a tape for n digits is per_digit n + besides long */
    /* Fills both tapes, which are blank, of so many digits, by `chance`: numbers in 0..1, as many as a tape is long. */
    void (*make)(const struct task *t, const double *chance, int digits, int *in, int *out);
} task;

#define TASK_NAMES "add|badd|qadd|mul|bmul|sort|kvsort|id|rev|rev2|incr|left|right|left-shift|right-shift|dup|search"

/* NULL: none is called so. */
const task *task_called(const char *name);
int task_length(const task *t, int digits);

#endif
