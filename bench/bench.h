/* bench.h - what the parts of egret-bench share: clock, samples, cases of ops.txt. */
#ifndef EGRET_BENCH_H
#define EGRET_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Seconds of a clock that never jumps. */
double bench_now(void);

/* Sorts n values rising. */
void bench_sort(double *values, int n);

/* ---- cases ------------------------------------------------------------------------------- */

enum { BENCH_NAME = 64, BENCH_WORD = 16, BENCH_KEYS = 12, BENCH_CASES = 1024 };

typedef struct bench_case {
    char name[BENCH_NAME], op[BENCH_WORD];
    int keys;
    char key[BENCH_KEYS][BENCH_WORD], word[BENCH_KEYS][BENCH_WORD];
} bench_case;

/* Reads up to BENCH_CASES lines of ops.txt; their number, or -1 after words on stderr. */
int bench_read_cases(const char *path, bench_case *cases);
/* Whether numbers of cases are cut to BENCH_SMOKE, to see that all cases work. */
extern bool bench_smoke;
enum { BENCH_SMOKE = 24 };

/* The value of a key as a number or as text; 0 and "" where the case has no such key. */
int64_t bench_int(const bench_case *c, const char *key);
const char *bench_word(const bench_case *c, const char *key);
bool bench_is(const bench_case *c, const char *key, const char *word);

/* ---- verbs ------------------------------------------------------------------------------- */

/* One line of JSON: FMA peak and bandwidths at rising sizes, by the threads OpenMP has; the form is
 * documented in compare.py. */
void bench_peaks(FILE *out);
/* Costs of the smallest ops, of a start and of memory, as JSON. 0, or 1 after words on stderr. */
int bench_overhead(FILE *out, const char *self);
/* Prints what families of ops take on one thread and on all, at rising sizes. */
int bench_crossing(void);
/* The program whose start bench_overhead times: prints the most memory it held, in KiB. */
int bench_hello(void);
/* Prepares every case and prints whether it can run. 0 if all can. */
int bench_list(const bench_case *cases, int count);
/* Prints the time of each named case. 0 if all ran. */
int bench_run(const bench_case *cases, int count, char **names, int name_count);
/* Answers "run CALL COUNT" with {"seconds": of the processor}. */
int bench_calls(void);
/* Answers "run MICROSECONDS" with {"samples": .., "seconds": .., "processor": ..}. NULL for recipe: a random part. */
int bench_pictures(const char *folder, int workers, char *recipe);
int bench_sounds(const char *folder, int workers);
struct eg_dataset;
/* Passes over a dataset of batches as lines on stdin ask for them; frees it. The exit status. */
int bench_batches(struct eg_dataset *d);
/* Answers "run MICROSECONDS" with {"lines": .., "bytes": .., "seconds": ..}. */
int bench_texts(const char *tokenizer, const char *text);

/* Writes a net as FOLDER/NAME.onnx, an input and the output beside it, and answers for the model read again. */
int bench_graph(const char *folder, const char *name);
/* Answers requests on stdin until it ends. */
int bench_serve(const bench_case *cases, int count);

#endif
