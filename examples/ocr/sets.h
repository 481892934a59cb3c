/* sets.h - signs with what is on them: drawn, or read from records as FSNS has them, and written so. */
#ifndef EXAMPLES_OCR_SETS_H
#define EXAMPLES_OCR_SETS_H

#include <egret/run.h>

#include "charset.h"
#include "signs.h"

typedef enum set_name { SET_TRAIN, SET_VALIDATION, SET_TEST, SET_NAMES } set_name;
extern const char *const sets_names[SET_NAMES];

enum { SETS_LONGEST = 256, VIEWS_MOST = 4 }; /* letters of a text, views of a sign */

/* In a batch: images, f32 [N, 3, side, views side], and texts as numbers, i64 [N, length]. */
enum { IMAGES, TEXTS };

typedef struct sets_options {
    int64_t side, views, length; /* 0: as files have them, or 80, 2 and 10 of drawn signs */
    int64_t lines;               /* of a drawn sign, at most */
    int64_t drawn, others;       /* how many to learn from, and for each of the other sets */
    bool plain;                  /* what is learned from is not changed by chance */
} sets_options;

typedef struct sets {
    sets_options o; /* with the zeros filled in */
    charset letters;
    signs *signs; /* NULL: files, in */
    char folder[EG_PATH_SIZE];
} sets;

/* Of files one is looked at: charset_size=*.txt with the letters, train/train* or train-* and so on with records. */
eg_status sets_open(sets *s, const char *folder, const sets_options *o);
void sets_close(sets *s);

/* Batches; those to learn from in another order in each pass, changed by chance, and full. */
eg_dataset *sets_batches(sets *s, set_name name, int64_t batch, uint64_t seed);
/* The sign of that number in a set, its text as numbers and in letters. */
eg_status sets_draw(const sets *s, set_name set, int64_t number, eg_tensor **image, eg_tensor **text,
                    char name[NAME_BYTES]);
/* All of the drawn signs as such files. */
eg_status sets_write(sets *s, eg_run *run, const char *folder);

/* An image of any size, u8 [3, H, W], as nets see one view of it, f32 [3, side, side]; and back, u8. */
eg_tensor *sets_seen(eg_tensor *view, int64_t side);
eg_tensor *sets_shown(eg_tensor *seen);

#endif
