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

/* Photos that match a pattern of glob(7), and beside each, or in the folder "labels" instead of the last "images" of
 * its path, a text of the same name that ends in .txt: a line for each object, its class's number and, in shares of the
 * photo's sides, x and y of its middle, its width, its height; more columns are passed over. A photo without a text has
 * no object. names: a text with the name of a class in each line, or NULL: classes are called by their numbers. A
 * photo's number is its place among all. Sizes are read when photos are; boxes are of the photo as eg_image_decode
 * shows it. As Darknet and Ultralytics keep them. EG_EFORMAT also for a class beyond the names. */
EG_API eg_dataset *eg_yolo_new_with(const char *pattern, const char *names, const eg_photos_options *options);
#define eg_yolo_new(...)                  EG_YOLO_NEW_(__VA_ARGS__, )
#define EG_YOLO_NEW_(pattern, names, ...) eg_yolo_new_with(pattern, names, EG_OPTIONS_(eg_photos_options, __VA_ARGS__))

/* The names of the classes, *n of them, valid until the chain is freed. d is such a dataset or stands behind one; else
 * NULL and EG_EINVAL. */
EG_API const char *const *eg_photo_classes(const eg_dataset *d, int64_t *n);

/* ---- changed for training ------------------------------------------------------------------- */

/* A photo that was moved, resized or cut, with its objects: the image, their boxes, their masks, which are NULL if
 * there were none, and which objects of before these are, i64 [k], by which eg_index_select picks labels, flags and
 * areas. On failure image is NULL. All are in the scope. */
typedef struct eg_photo {
    eg_tensor *image, *boxes, *masks, *kept;
} eg_photo;

/* image [C, H, W], u8 or a float; boxes [k, 4] floats; masks u8 [k, H, W] or NULL; all on the CPU. EG_ESHAPE,
 * EG_EDTYPE, EG_EDEVICE for others. Nothing is recorded on tapes. Random numbers are the thread's (random.h). */

typedef struct eg_photo_fit_options {
    size_t size;
    int64_t shorter, longer; /* the shorter side becomes this, unless the longer one were beyond that; 0: 800, 1333 */
    int64_t multiple;        /* zeros to the right and below until both sides are multiples of it; 0: 1 */
    bool antialias;          /* smaller ones without moire, as eg_resize does it */
} eg_photo_fit_options;

/* Another size with the same proportions: sides are rounded to whole pixels, boxes go by what they became. As
 * torchvision's and TensorFlow's detectors see photos. EG_EINVAL for sizes below 0 or beyond 2^15. */
EG_API eg_photo eg_photo_fit_with(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks,
                                  const eg_photo_fit_options *options);
#define eg_photo_fit(...) EG_PHOTO_FIT_(__VA_ARGS__, )
#define EG_PHOTO_FIT_(image, boxes, masks, ...) \
    eg_photo_fit_with(image, boxes, masks, EG_OPTIONS_(eg_photo_fit_options, __VA_ARGS__))

/* Left and right exchanged. */
EG_API eg_photo eg_photo_flip(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks);
/* So with a probability. */
EG_API eg_photo eg_photo_random_flip(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks, double probability);

/* Rows top .. top + height - 1, columns alike, of which EG_EINDEX says where they leave the image. Boxes are cut;
 * objects stay of which more than `least` of the box is left, and anything. */
EG_API eg_photo eg_photo_crop(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks, int64_t top, int64_t left,
                              int64_t height, int64_t width, double least);
/* A part by chance, as SSD learns from (Liu et al. 2016, section 2.2): all of it, or 0.3 to 1 of the sides, neither
 * more than twice the other's share, that overlaps some object by at least 0, 0.1, 0.3, 0.5, 0.7 or 0.9; objects whose
 * middle lies in it stay, of which there must be one. After 50 parts that will not do another least overlap is drawn,
 * ten times at most. */
EG_API eg_photo eg_photo_random_crop(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks);
/* The photo somewhere on a canvas of 1 to `most` times its sides, of one value for all channels: smaller objects, as
 * SSD. */
EG_API eg_photo eg_photo_random_zoom_out(eg_tensor *image, eg_tensor *boxes, eg_tensor *masks, double most,
                                         double value);

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
