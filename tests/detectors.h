/* detectors.h - what tests of detectors share: a batch of two photos, and golden numbers (tests/golden/detectors.py).
 */
#ifndef EGRET_TESTS_DETECTORS_H
#define EGRET_TESTS_DETECTORS_H

#include <egret/models.h>

#include "tests/egt.h"

enum { WIDTH = 16, HIDDEN = 24, CLASSES = 3, ANCHOR = 8, FOUND = 12, ALL = 100000 };
enum { N = 2, K = 3, HEIGHT = 64, WIDE = 96, PHOTOS = 1000000 };

/* Photos with three objects and one, of which the second photo is lower, the first narrower than the images. */
typedef struct detectors_batch {
    eg_tensor *images, *sizes, *boxes, *labels, *masks;
} detectors_batch;
extern detectors_batch batch;
void make_batch(eg_dtype dtype);
eg_detector_losses learn(eg_module *net, bool masks);

/* Trains the net, which it frees, for three steps of f64 from weights that come in under others' names, and compares
 * losses and what is found then with what is written under `name`. */
void as_theirs(eg_module *net, const char *name, const char *names);

#endif
