/* child.h - what a test does that ends its process. */
#ifndef EGRET_TESTS_CUDA_CHILD_H
#define EGRET_TESTS_CUDA_CHILD_H

#include <stdbool.h>

/* Whether the job, in a process of its own, dies and says something with the word in it on stderr
 * before. Skips the running test where the thread sanitizer is: it loses fibers at a fork. */
bool dies_saying(void (*job)(int which), int which, const char *word);

#endif
