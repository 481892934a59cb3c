/* photos.h - photos and the objects on them, as files or drawn, ready for a detector. */
#ifndef EXAMPLES_DETECT_PHOTOS_H
#define EXAMPLES_DETECT_PHOTOS_H

#include <egret/run.h>

/* What a sample has, of one photo or a batch of them; LABELS is -1 where there is no object, or in training one that
 * is difficult or a crowd. Boxes and masks are of the resized photo; MASKS are there if they were asked for. */
enum { IMAGE, BOXES, LABELS, SIZE, FLAGS, AREAS, MASKS };

typedef struct photos_options {
    const char *train, *valid; /* names of the sets; NULL: as the layout has them */
    int64_t shorter, longer;   /* sides that photos are resized to */
    int64_t drawn;             /* pictures of shapes where there are no files */
    int64_t batch;
    bool masks, crops; /* crops: photos to learn from are cut and made smaller by chance, as SSD has it */
} photos_options;

typedef struct photos photos;

/* Of a folder as Pascal VOC, COCO or YOLO's users lay them out, which is seen; without one shapes are drawn. The run's.
 */
photos *photos_open(eg_run *run, const char *folder, const photos_options *o);
/* Names of the classes, the photos' own. */
const char *const *photos_classes(const photos *p, int64_t *count);
/* Batches to learn from, in another order in each pass and changed by chance, or to be judged by. */
eg_dataset *photos_dataset(photos *p, bool train, uint64_t seed);

/* A photo, u8 [3, H, W], as nets see it, f32 [3, h, w]: its shorter side as asked for, its mean and deviation those of
 * ImageNet's. And back, u8. */
eg_tensor *photos_seen(eg_tensor *photo, int64_t shorter, int64_t longer);
eg_tensor *photos_shown(eg_tensor *seen);

#endif
