/* photos.h - photos and what people said of them: lists of files, or drawn. */
#ifndef EXAMPLES_CAPTION_PHOTOS_H
#define EXAMPLES_CAPTION_PHOTOS_H

#include <egret/run.h>

typedef struct photo {
    char *name, *path; /* path NULL: drawn */
    int64_t number;    /* of what is drawn */
    char **captions;   /* as they were written */
    int count;
} photo;

/* In the order of the files, or as they are drawn. */
typedef struct photos {
    photo *at;
    int64_t count;
} photos;

/* Flickr8k's captions.txt (image,caption) with the folder images, or Images, or beside it; or COCO's
 * annotations/captions_*.json, of which the first is read, with the folder that its name ends with, or images. At most
 * so many photos, 0: all. Files are not opened. EG_EIO if the folder has neither. */
eg_status photos_read(photos *p, const char *folder, int64_t most);
/* So many scenes: figures of one colour each, beside or above each other. */
eg_status photos_draw(photos *p, int64_t count);
void photos_free(photos *p);

/* The scene of that number, u8 [3, side, side]. */
eg_tensor *photos_scene(int64_t number, int64_t side);

#endif
