/* photos.h - photos and what is to be seen on them: boxes, classes, masks, as the sets for object detection have them.
 *
 *     eg_dataset *d = eg_voc_new("VOC2012", "trainval");
 *     const char *const *names = eg_photo_classes(d, &count);
 *
 * Samples are a photo each: its file's bytes, u8 [n]; its k objects' boxes, f32 [k, 4], in pixels from the left upper
 * corner of the photo: x and y of the box's left upper corner, then of its right lower one; their classes, i64 [k],
 * from 0; what is known of them besides, u8 [k], bits of eg_object_flags; their areas in pixels, f32 [k]; the photo's
 * number, i64 []; and with `.masks` u8 [k, H, W], 1 where the object is. Photos without objects have k = 0.
 *
 * Annotations are read when the set is opened, and not trusted: what is malformed is EG_EFORMAT naming file and place.
 * Boxes are cut to the photo; of what is left empty there are none, unless `.keep_empty`. Photos are read when their
 * turn comes. */
#ifndef EGRET_DATA_PHOTOS_H
#define EGRET_DATA_PHOTOS_H

#include <egret/data/records.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* What is known of an object besides, bits. */
typedef enum eg_object_flags {
    EG_OBJECT_DIFFICULT = 1, /* who finds it gains nothing, who does not loses nothing */
    EG_OBJECT_TRUNCATED = 2, /* there is more of it outside of the photo; counts as others do */
    EG_OBJECT_CROWD = 4,     /* many in one; the same as difficult, of any number that lie within it */
} eg_object_flags;

typedef struct eg_photos_options {
    size_t size;
    const char *const
        *classes;      /* their names, in the order of their numbers, of which others are an error; NULL: as the */
    int classes_count; /* set has them: VOC by name, COCO by number, YOLO by its list */
    bool masks;        /* of COCO: from polygons and runs */
    bool keep_empty;   /* boxes without an inside too, as they stand */
    bool from_one;     /* of VOC: pixels are counted from 1 and the last belongs to the box, as in VOC's own files */
} eg_photos_options;

/* A folder as Pascal VOC's: Annotations/ID.xml and JPEGImages/FILE, of the ids in ImageSets/Main/SET.txt. A photo's
 * number is its place in the set. By libexpat; entities, and elements 32 deep, are EG_EFORMAT. Everingham et al. 2010.
 */
EG_API eg_dataset *eg_voc_new_with(const char *folder, const char *set, const eg_photos_options *options);
#define eg_voc_new(...)               EG_VOC_NEW_(__VA_ARGS__, )
#define EG_VOC_NEW_(folder, set, ...) eg_voc_new_with(folder, set, EG_OPTIONS_(eg_photos_options, __VA_ARGS__))

/* COCO's instances in JSON, photos in a folder. A photo's number is its id. Lin et al. 2014; cocodataset.org, Data
 * format. */
EG_API eg_dataset *eg_coco_new_with(const char *annotations, const char *folder, const eg_photos_options *options);
#define eg_coco_new(...) EG_COCO_NEW_(__VA_ARGS__, )
#define EG_COCO_NEW_(annotations, folder, ...) \
    eg_coco_new_with(annotations, folder, EG_OPTIONS_(eg_photos_options, __VA_ARGS__))

/* The names of the classes, *n of them, valid until the chain is freed. d is such a dataset or stands behind one; else
 * NULL and EG_EINVAL. */
EG_API const char *const *eg_photo_classes(const eg_dataset *d, int64_t *n);

/* ---- masks ---------------------------------------------------------------------------------- */

/* What lies within a polygon with corners [k, 2], x and y, as COCO's tools fill it: u8 [height, width]. EG_ESHAPE,
 * EG_EDTYPE; EG_EINVAL: a corner is not finite, or further away than 8 times both sides; sides below 1 or beyond 2^15.
 */
EG_API eg_tensor *eg_mask_polygon(eg_tensor *corners, int64_t height, int64_t width);
/* A mask of COCO's runs in letters, column by column; EG_EFORMAT: they are no runs, or of another size. */
EG_API eg_tensor *eg_mask_decode(const char *runs, int64_t height, int64_t width);
/* The other way, of u8 or bool [H, W]: letters u8 [n]. */
EG_API eg_tensor *eg_mask_encode(eg_tensor *mask);

EG_END_DECLS

#endif
