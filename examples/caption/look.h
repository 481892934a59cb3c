/* look.h - what a published net sees in photos, computed once and kept in files. */
#ifndef EXAMPLES_CAPTION_LOOK_H
#define EXAMPLES_CAPTION_LOOK_H

#include "../common/trunk.h"
#include "photos.h"

typedef struct look_options {
    trunk_options trunk;
    const char *tap;   /* the layer whose maps they are; NULL: the last one before the classes, of nets known here */
    const char *cache; /* a folder for their files; NULL: "features" in the run's */
    int64_t side;      /* of what the net is shown; 0: its own */
    bool scenes;       /* it learns from drawn scenes */
} look_options;

typedef struct look {
    eg_module *trunk;
    const char *recipe; /* of eg_preprocess; NULL: scenes, from -1 to 1 */
    eg_path folder;
    int64_t side, rows, columns, channels; /* the last three are known from the first photo on */
} look;

/* EG_EINVAL for a net whose layer is not known and not told. */
eg_status look_open(look *f, eg_run *run, const look_options *o);
void look_free(look *f);
/* Computes those of all photos that have no file yet. */
eg_status look_make(look *f, eg_run *run, const photos *all);
/* Those of one photo, f32 [places, channels], of its file; and of a photo of somebody else's. */
eg_tensor *look_of(const look *f, const photo *p);
eg_tensor *look_compute(look *f, eg_run *run, const photo *p);
/* What the net is shown of it, f32 [3, side, side] from 0 to 1, to be drawn on. */
eg_tensor *look_shown(const look *f, const photo *p);

#endif
