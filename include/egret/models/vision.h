/* vision.h - nets that say what is in an image, and one that says where. */
#ifndef EGRET_MODELS_VISION_H
#define EGRET_MODELS_VISION_H

#include <egret/base.h>
#include <egret/nn.h>

EG_BEGIN_DECLS

enum { EG_NO_CLASSES = -1 };

/* What nets can be asked for. Zero-initialised: as the paper, or its authors' program, has it. EG_EINVAL for a value
 * that is out of order, and for an option the net has no place for. */
typedef struct eg_model_options {
    size_t size;
    int64_t classes;    /* outputs; EG_NO_CLASSES: none, the features in front of the last layer */
    int64_t channels;   /* of the images; 0: 3 (lenet: 1) */
    int64_t side;       /* of the images, for nets whose weights depend on it (lenet, cifarnet, vit) */
    double dropout;     /* in front of the last layers; EG_ZERO: none */
    double drop_path;   /* of the last block, falling to 0 at the first one (nasnet, pnasnet, efficientnet, convnext) */
    double bn_momentum; /* weight of the batch in running statistics: 1 - TensorFlow's decay */
    double bn_eps;      /* of norms */
    double width;       /* all channels times that, at least 8 (mobilenets; unet: at least 1) */
    int64_t output_stride; /* images over features: 8, 16 or 32; what would stride beyond is dilated (resnets,
                              mobilenets) */
    bool no_global_pool;   /* logits for each place of the last features: [N, classes, H, W] */
    bool no_aux;           /* no auxiliary logits (inception_v3, _v4, inception_resnet_v2, nasnet, pnasnet) */
} eg_model_options;

/* ---- logits beside the logits --------------------------------------------------------------- */

/* aux is NULL of a net that has none, or is in eval mode; both are NULL after a failure. */
typedef struct eg_logits {
    eg_tensor *logits; /* [N, classes] */
    eg_tensor *aux;    /* [N, classes], from the middle of the net: for training, where its loss counts 0.4 */
} eg_logits;

/* What any module makes of x, and what an auxiliary head inside makes; eg_module_forward leaves that one out. */
EG_API eg_logits eg_model_forward(eg_module *m, eg_tensor *x);

/* ---- nets ------------------------------------------------------------------------------------ */

#define EG_MODEL_(function, ...)        function(EG_OPTIONS_(eg_model_options, __VA_ARGS__))
#define EG_MODEL_OF_(function, of, ...) function(of, EG_OPTIONS_(eg_model_options, __VA_ARGS__))

/* LeCun et al. 1998 as TF-Slim has it: two 5 x 5 convolutions, 1024 hidden units. 28 x 28 grey images. */
EG_API eg_module *eg_lenet_new_with(const eg_model_options *options);
#define eg_lenet_new(...) EG_MODEL_(eg_lenet_new_with, __VA_ARGS__)

/* Krizhevsky's net for CIFAR-10 as TF-Slim has it: two convolutions with local response norms. 32 x 32. */
EG_API eg_module *eg_cifarnet_new_with(const eg_model_options *options);
#define eg_cifarnet_new(...) EG_MODEL_(eg_cifarnet_new_with, __VA_ARGS__)

/* "One weird trick" (Krizhevsky 2014): one tower. 224 x 224. */
EG_API eg_module *eg_alexnet_v2_new_with(const eg_model_options *options);
#define eg_alexnet_v2_new(...) EG_MODEL_(eg_alexnet_v2_new_with, __VA_ARGS__)

/* Sermanet et al. 2013, the fast one. 231 x 231. */
EG_API eg_module *eg_overfeat_new_with(const eg_model_options *options);
#define eg_overfeat_new(...) EG_MODEL_(eg_overfeat_new_with, __VA_ARGS__)

/* Simonyan and Zisserman 2014, of 11, 13, 16 or 19 layers. The dense layers are convolutions, so larger images give
 * more places. 224 x 224. */
EG_API eg_module *eg_vgg_new_with(int layers, const eg_model_options *options);
#define eg_vgg_new(...) EG_MODEL_OF_(eg_vgg_new_with, __VA_ARGS__, )

/* Szegedy et al. 2014 with batch norm, as TF-Slim has it, without auxiliary heads. 224 x 224. */
EG_API eg_module *eg_inception_v1_new_with(const eg_model_options *options);
#define eg_inception_v1_new(...) EG_MODEL_(eg_inception_v1_new_with, __VA_ARGS__)
/* Ioffe and Szegedy 2015. 224 x 224. */
EG_API eg_module *eg_inception_v2_new_with(const eg_model_options *options);
#define eg_inception_v2_new(...) EG_MODEL_(eg_inception_v2_new_with, __VA_ARGS__)
/* Szegedy et al. 2015, one auxiliary head. 299 x 299. */
EG_API eg_module *eg_inception_v3_new_with(const eg_model_options *options);
#define eg_inception_v3_new(...) EG_MODEL_(eg_inception_v3_new_with, __VA_ARGS__)
/* Szegedy et al. 2016, one auxiliary head each. 299 x 299. */
EG_API eg_module *eg_inception_v4_new_with(const eg_model_options *options);
#define eg_inception_v4_new(...) EG_MODEL_(eg_inception_v4_new_with, __VA_ARGS__)
EG_API eg_module *eg_inception_resnet_v2_new_with(const eg_model_options *options);
#define eg_inception_resnet_v2_new(...) EG_MODEL_(eg_inception_resnet_v2_new_with, __VA_ARGS__)

/* He et al. 2015, of 18, 34, 50, 101 or 152 layers as torchvision has them: the first 3 x 3 convolution of a stage
 * strides. 224 x 224. */
EG_API eg_module *eg_resnet_new_with(int layers, const eg_model_options *options);
#define eg_resnet_new(...) EG_MODEL_OF_(eg_resnet_new_with, __VA_ARGS__, )
/* The same, and He et al. 2016 with norms in front, of 50, 101, 152 or 200 layers as TF-Slim has them: the last unit of
 * a stage strides. */
EG_API eg_module *eg_resnet_v1_new_with(int layers, const eg_model_options *options);
#define eg_resnet_v1_new(...) EG_MODEL_OF_(eg_resnet_v1_new_with, __VA_ARGS__, )
EG_API eg_module *eg_resnet_v2_new_with(int layers, const eg_model_options *options);
#define eg_resnet_v2_new(...) EG_MODEL_OF_(eg_resnet_v2_new_with, __VA_ARGS__, )
/* For 32 x 32 images, of 6 n + 2 layers: 20, 32, 44, 56, 110; He et al. 2015 with shortcuts without parameters (their
 * option A), and He et al. 2016. */
EG_API eg_module *eg_resnet_cifar_v1_new_with(int layers, const eg_model_options *options);
#define eg_resnet_cifar_v1_new(...) EG_MODEL_OF_(eg_resnet_cifar_v1_new_with, __VA_ARGS__, )
EG_API eg_module *eg_resnet_cifar_v2_new_with(int layers, const eg_model_options *options);
#define eg_resnet_cifar_v2_new(...) EG_MODEL_OF_(eg_resnet_cifar_v2_new_with, __VA_ARGS__, )

/* Howard et al. 2017, and Sandler et al. 2018; .width makes them narrower or wider. 224 x 224. */
EG_API eg_module *eg_mobilenet_v1_new_with(const eg_model_options *options);
#define eg_mobilenet_v1_new(...) EG_MODEL_(eg_mobilenet_v1_new_with, __VA_ARGS__)
EG_API eg_module *eg_mobilenet_v2_new_with(const eg_model_options *options);
#define eg_mobilenet_v2_new(...) EG_MODEL_(eg_mobilenet_v2_new_with, __VA_ARGS__)

typedef enum eg_nasnet_size { EG_NASNET_CIFAR, EG_NASNET_MOBILE, EG_NASNET_LARGE } eg_nasnet_size;

/* NASNet-A (Zoph et al. 2017) and PNASNet-5 (Liu et al. 2017, mobile and large), one auxiliary head. Drop path, which
 * their authors raise over the training too, is of its last strength throughout. 32 x 32, 224 x 224, 331 x 331. */
EG_API eg_module *eg_nasnet_new_with(eg_nasnet_size of, const eg_model_options *options);
#define eg_nasnet_new(...) EG_MODEL_OF_(eg_nasnet_new_with, __VA_ARGS__, )
EG_API eg_module *eg_pnasnet_new_with(eg_nasnet_size of, const eg_model_options *options);
#define eg_pnasnet_new(...) EG_MODEL_OF_(eg_pnasnet_new_with, __VA_ARGS__, )

/* Tan and Le 2019, B0 to B7. 224 x 224 to 600 x 600. */
EG_API eg_module *eg_efficientnet_new_with(int b, const eg_model_options *options);
#define eg_efficientnet_new(...) EG_MODEL_OF_(eg_efficientnet_new_with, __VA_ARGS__, )
/* EfficientNet-Lite (Liu 2020), 0 to 4: for machines that have little but whole numbers, without gates and with relu6;
 * stem and head are no wider in the larger ones. Padded as TensorFlow does. 224 x 224 to 300 x 300. */
EG_API eg_module *eg_efficientnet_lite_new_with(int lite, const eg_model_options *options);
#define eg_efficientnet_lite_new(...) EG_MODEL_OF_(eg_efficientnet_lite_new_with, __VA_ARGS__, )

typedef enum eg_convnext_size {
    EG_CONVNEXT_TINY,
    EG_CONVNEXT_SMALL,
    EG_CONVNEXT_BASE,
    EG_CONVNEXT_LARGE
} eg_convnext_size;

/* Liu et al. 2022. 224 x 224. */
EG_API eg_module *eg_convnext_new_with(eg_convnext_size of, const eg_model_options *options);
#define eg_convnext_new(...) EG_MODEL_OF_(eg_convnext_new_with, __VA_ARGS__, )

typedef enum eg_vit_size { EG_VIT_B_16, EG_VIT_B_32, EG_VIT_L_16, EG_VIT_L_32 } eg_vit_size;

/* Dosovitskiy et al. 2020: patches of 16 or 32 pixels. 224 x 224, or .side. */
EG_API eg_module *eg_vit_new_with(eg_vit_size of, const eg_model_options *options);
#define eg_vit_new(...) EG_MODEL_OF_(eg_vit_new_with, __VA_ARGS__, )

/* Ronneberger et al. 2015 with batch norm and five levels, as TensorFlow's segmentation example has it: logits
 * [N, classes, H, W] of images whose sides are multiples of 32; 1 class where none is given. */
EG_API eg_module *eg_unet_new_with(const eg_model_options *options);
#define eg_unet_new(...) EG_MODEL_(eg_unet_new_with, __VA_ARGS__)

EG_END_DECLS

#endif
