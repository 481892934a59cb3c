/* detection.h - nets that find objects in photos: Faster R-CNN, Mask R-CNN, RetinaNet.
 *
 *     eg_module *net = eg_faster_rcnn_new(classes, .layers = 18);
 *     eg_detector_losses l = eg_detector_loss(net, images, boxes, labels); // while a tape records
 *     ...
 *     eg_module_eval(net);
 *     eg_detections found = eg_detector_find(net, images);
 *
 * Images are a batch [N, channels, H, W] of floats, of which smaller ones end in zeros to the right and below; `sizes`,
 * integers [N, 2], says where: the height and width that is photo. N is 256 at most. Boxes [N, K, 4] are in pixels, x
 * and y of the left upper corner, then of the right lower one; their classes, integers [N, K] from 0, are below 0 where
 * there is no object: batches as eg_dataset_padded_batch makes them. An empty box is no object either.
 *
 * Nets and what they learn from are torchvision's, whose weights eg_detector_names brings in; a photo is made ready by
 * eg_photo_fit. Zeros are added until both sides are multiples of 32. */
#ifndef EGRET_MODELS_DETECTION_H
#define EGRET_MODELS_DETECTION_H

#include <egret/base.h>
#include <egret/nn.h>

EG_BEGIN_DECLS

/* Zero-initialised: the papers' numbers. EG_EINVAL for what is out of order. */
typedef struct eg_detector_options {
    size_t size;
    int layers;             /* of the residual net in front, as eg_resnet_new has them; 0: 50 */
    int64_t channels;       /* of images; 0: 3 */
    int64_t width;          /* channels of the pyramid of features; 0: 256 */
    int64_t hidden;         /* of both dense layers that look at a proposal; 0: 1024 */
    double anchor;          /* side of the smallest anchors, doubled from level to level; 0: 32 */
    int64_t proposals;      /* that a photo has at most, before and behind suppression; 0: 2000 to learn from, else
                               1000 */
    int64_t anchor_samples; /* of a photo, to learn from, at most half of them objects; 0: 256 */
    int64_t box_samples;    /* proposals of a photo, alike, at most a quarter; 0: 512 */
    int64_t found;          /* of a photo at most; 0: 100, of RetinaNet 300 */
    double score_threshold; /* what is found has a score above; 0: 0.05, EG_ZERO: 0 */
    double iou_threshold;   /* objects of a class overlap by no more; 0: 0.5 */
    bool frozen_norms;      /* batch norms of the residual net keep what they have: for small batches, of weights that
                               have learned already */
    int frozen_stages;      /* of the residual net, 0..5: its first convolution and its blocks do not learn */
} eg_detector_options;

#define EG_DETECTOR_NEW_(function, classes, ...) function(classes, EG_OPTIONS_(eg_detector_options, __VA_ARGS__))

/* Ren et al. 2015 over a pyramid of features (Lin et al. 2017, "Feature Pyramid Networks for Object Detection") of
 * strides 4 to 64: anchors of three shapes per place are proposals if they hold anything, and each, 7 x 7 cells of the
 * level that fits its size, is looked at again. 41,808,406 parameters with 90 classes. */
EG_API eg_module *eg_faster_rcnn_new_with(int64_t classes, const eg_detector_options *options);
#define eg_faster_rcnn_new(...) EG_DETECTOR_NEW_(eg_faster_rcnn_new_with, __VA_ARGS__, )
/* He et al. 2017: the same, and masks of 28 x 28 cells. 44,454,513 parameters with 90 classes. */
EG_API eg_module *eg_mask_rcnn_new_with(int64_t classes, const eg_detector_options *options);
#define eg_mask_rcnn_new(...) EG_DETECTOR_NEW_(eg_mask_rcnn_new_with, __VA_ARGS__, )
/* Both over one level of features of stride 16, with masks 8, as TensorFlow's object detection has them: what the
 * fourth stage of a residual net as eg_resnet_v1_new has it (.layers 50, 101, 152, 200) makes of 7 x 7 cells looks
 * again; masks have 33 x 33 cells. Here zeros stand for .width 512, .anchor 64, of four sizes, .proposals 300,
 * .box_samples 64, .found 300, .iou_threshold 0.6; .hidden is not for them (EG_EINVAL). Losses of where boxes are count
 * twice, those of masks four times. 48,180,299 parameters of 101 layers, with 90 classes. */
EG_API eg_module *eg_faster_rcnn_c4_new_with(int64_t classes, const eg_detector_options *options);
#define eg_faster_rcnn_c4_new(...) EG_DETECTOR_NEW_(eg_faster_rcnn_c4_new_with, __VA_ARGS__, )
EG_API eg_module *eg_mask_rcnn_c4_new_with(int64_t classes, const eg_detector_options *options);
#define eg_mask_rcnn_c4_new(...) EG_DETECTOR_NEW_(eg_mask_rcnn_c4_new_with, __VA_ARGS__, )
/* Lin et al. 2017, "Focal Loss for Dense Object Detection": anchors of nine shapes per place, at strides 8 to 128, are
 * objects or not. .hidden, .proposals, .anchor_samples and .box_samples are not for it (EG_EINVAL). 34,068,119
 * parameters with 91 classes. */
EG_API eg_module *eg_retinanet_new_with(int64_t classes, const eg_detector_options *options);
#define eg_retinanet_new(...) EG_DETECTOR_NEW_(eg_retinanet_new_with, __VA_ARGS__, )

/* Map of torchvision's names (eg_tensors_renamed) for a net of these; EG_EINVAL, NULL for others, also those of C4. Of
 * Faster and Mask R-CNN torchvision's class 0 is none of the objects, so its classes are one more. */
EG_API const char *eg_detector_names(const eg_module *m);

/* ---- learning ---------------------------------------------------------------------------------- */

typedef struct eg_detector_batch {
    size_t size;
    eg_tensor *sizes; /* integers [N, 2]: height and width of each photo; NULL: all of the image */
    eg_tensor *masks; /* u8 or bool [N, K, H, W] of the objects, for Mask R-CNN, where they must be */
} eg_detector_batch;

/* Of one element, borrowed; f32, of f64 images f64. NULL for parts that a net has not, all after a failure. */
typedef struct eg_detector_losses {
    eg_tensor *loss;       /* the sum of the others */
    eg_tensor *objectness; /* whether anchors hold an object: binary cross entropy */
    eg_tensor *proposal;   /* where it is: smooth L1, beta 1/9, of eg_box_encode */
    eg_tensor *label;      /* which it is: cross entropy; of RetinaNet focal loss */
    eg_tensor *box;        /* where, at the second look; of RetinaNet L1 */
    eg_tensor *mask;       /* of its class: binary cross entropy */
} eg_detector_losses;

/* What the net has to learn from a batch. Which anchors and proposals it learns from is drawn from the thread's random
 * sequence. Waits for the device. EG_ESHAPE, EG_EDTYPE for what does not fit, EG_EINDEX for a class beyond, EG_EINVAL
 * for a module that is no such net. */
EG_API eg_detector_losses eg_detector_loss_with(eg_module *m, eg_tensor *images, eg_tensor *boxes, eg_tensor *labels,
                                                const eg_detector_batch *batch);
#define eg_detector_loss(...) EG_DETECTOR_LOSS_(__VA_ARGS__, )
#define EG_DETECTOR_LOSS_(m, images, boxes, labels, ...) \
    eg_detector_loss_with(m, images, boxes, labels, EG_OPTIONS_(eg_detector_batch, __VA_ARGS__))

/* ---- finding ----------------------------------------------------------------------------------- */

/* The likeliest first; K is the most that a photo of the batch has. f32, of f64 images f64. Borrowed; all NULL after a
 * failure. */
typedef struct eg_detections {
    eg_tensor *boxes;  /* [N, K, 4] */
    eg_tensor *scores; /* [N, K]; 0 behind the last */
    eg_tensor *labels; /* i64 [N, K]; -1 behind the last */
    eg_tensor *masks;  /* [N, K, S, S]: of each cell of the box how likely it is the object, S 28, of C4 33; NULL:
                          not  Mask R-CNN */
} eg_detections;

/* What the net finds. sizes as in eg_detector_batch, or NULL. For a net in eval mode, whose batch norms then are those
 * of all photos. Waits for the device. */
EG_API eg_detections eg_detector_find(eg_module *m, eg_tensor *images, eg_tensor *sizes);
/* Those of photo i alone, without what is behind the last: boxes [k, 4], scores [k], labels [k], masks [k, S, S].
 * Waits for the device. EG_EINDEX: no such photo. */
EG_API eg_detections eg_detections_at(const eg_detections *found, int64_t i);
/* Masks of a photo's boxes [k, 4], floats [k, S, S], in its own pixels, on the CPU: u8 [k, height, width], 1 where an
 * object is likelier than not where the middle of a pixel lies, between the middles of cells. EG_ESHAPE, EG_EDTYPE for
 * others; EG_EINVAL: sides below 1 or beyond 2^15, a box that lies further away than 4 times both sides. */
EG_API eg_tensor *eg_detection_masks(eg_tensor *boxes, eg_tensor *masks, int64_t height, int64_t width);

EG_END_DECLS

#endif
