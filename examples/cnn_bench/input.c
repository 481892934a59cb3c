/* input.c - see input.h. */
#include "input.h"

#include <stdio.h>
#include <string.h>

/* ---- the table ---- */

/* The first is what is meant where nothing is said. */
static const input_set sets[] = {
    {"imagenet", 1001, 1281167, 50000, "train-*", "validation-*", "cnn_benchmarks"},
    {"cifar10", 10, 50000, 10000, "cifar10_train.tfrecord", "cifar10_test.tfrecord", NULL},
    {"flowers", 5, 3320, 350, "flowers_train_*.tfrecord", "flowers_validation_*.tfrecord", "cnn_benchmarks"},
    {"mnist", 10, 60000, 10000, "mnist_train.tfrecord", "mnist_test.tfrecord", "lenet"},
};

eg_status input_find(const options *o, const input_set **set)
{
    char names[128] = "";
    *set = o->data_name ? NULL : &sets[0];
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        bool meant = o->data_name ? strcmp(sets[i].name, o->data_name) == 0
                                  : o->data_dir && strstr(o->data_dir, sets[i].name) != NULL;
        if (meant) {
            *set = &sets[i];
            return EG_OK;
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", sets[i].name);
    }
    return *set ? EG_OK
                : eg_failf(EG_EINDEX, "cnn-bench", "--data_name is one of %s, not '%.60s'", names, o->data_name);
}

/* ---- made up ---- */

static bool is_nhwc(const input *in)
{
    return strcmp(in->o->data_format, "NHWC") == 0;
}

static eg_status make_up(input *in)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *x = eg_truncated_normal(EG_SHAPE(in->batch, 3, in->side, in->side), 127, 60, EG_F32);
        eg_tensor *y = eg_randint(EG_SHAPE(in->batch), 0, in->of->classes - 1, EG_I64);
        in->made[0] = eg_keep(eg_to(is_nhwc(in) ? eg_channels_last(x) : x, in->device));
        in->made[1] = eg_keep(eg_to(y, in->device));
        st = in->made[0] && in->made[1] ? EG_OK : eg_last_error()->code;
    }
    return st;
}

eg_status input_begin(input *in)
{
    in->ways[0] = (struct input_way){.in = in, .train = false};
    in->ways[1] = (struct input_way){.in = in, .train = true};
    return in->o->data_dir ? EG_OK : make_up(in);
}

void input_end(input *in)
{
    eg_release(in->made[0]);
    eg_release(in->made[1]);
}

/* The same batch each time. */
static eg_status give(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const input *in = user;
    (void)index;
    sample[0] = in->made[0];
    sample[1] = in->made[1];
    *n = 2;
    return EG_OK;
}

/* ---- records ---- */

/* Small images as they are for CIFAR-10: moved by up to four pixels, and mirrored. */
static eg_tensor *prepare_small(const struct input_way *w, const eg_tensor *file)
{
    int64_t side = w->in->side;
    eg_tensor *x = eg_image_decode(eg_data(file), (size_t)eg_numel(file), .channels = 3);
    if (w->train && w->in->o->distortions) {
        x = eg_image_random_crop(eg_image_crop_or_pad(x, side + 8, side + 8), side, side);
        x = eg_image_random_flip(x, 0.5, 0);
    } else {
        x = eg_image_crop_or_pad(x, side, side);
    }
    return eg_sub_scalar(eg_mul_scalar(eg_cast(x, EG_F32), 1 / 127.5), 1);
}

static eg_preprocess_filter filter_of(const options *o)
{
    static const char *const names[] = {[EG_FILTER_BILINEAR] = "bilinear",
                                        [EG_FILTER_NEAREST] = "nearest",
                                        [EG_FILTER_BICUBIC] = "bicubic",
                                        [EG_FILTER_AREA] = "area"};
    int i = 0;
    while (i < EG_FILTER_IN_TURN && strcmp(names[i], o->resize_method) != 0) {
        i++;
    }
    return (eg_preprocess_filter)i; /* round_robin: behind them all */
}

/* A record, and its image's place in the batch, to an image and a label. */
static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    enum { IMAGE, LABEL, BOXES };
    static const eg_feature features[] = {
        {.name = "image/encoded", .dtype = EG_U8},
        {.name = "image/class/label", .dtype = EG_I64},
        {.name = "image/object/bbox/ymin", .dtype = EG_F32, .variable = true, .optional = true},
        {.name = "image/object/bbox/xmin", .dtype = EG_F32, .variable = true, .optional = true},
        {.name = "image/object/bbox/ymax", .dtype = EG_F32, .variable = true, .optional = true},
        {.name = "image/object/bbox/xmax", .dtype = EG_F32, .variable = true, .optional = true}};
    const struct input_way *w = user;
    eg_tensor *found[6], *image;
    (void)n;
    eg_status st = eg_example_read(in[0], features, 6, found);
    if (st) {
        return st;
    }
    if (w->in->of->recipe) {
        eg_tensor *boxes = eg_numel(found[BOXES]) ? eg_stack(found + BOXES, 4, 1) : NULL;
        image = eg_preprocess_decode(w->in->of->recipe, eg_data(found[IMAGE]), (size_t)eg_numel(found[IMAGE]),
                                     .side = w->in->side, .channels = 3, .train = w->train,
                                     .no_colours = !w->in->o->distortions, .place = eg_item_int(in[1]), .boxes = boxes,
                                     .filter = filter_of(w->in->o));
    } else {
        image = prepare_small(w, found[IMAGE]);
    }
    out[0] = is_nhwc(w->in) ? eg_channels_last(image) : eg_contiguous(image);
    out[1] = found[LABEL];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

static eg_status place(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)user;
    sample[0] = eg_full_int(EG_SCALAR, index + 1, EG_I64);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

static eg_dataset *read_records(input *in, bool train)
{
    const options *o = in->o;
    const char *files = train ? in->of->train_files : in->of->test_files;
    int threads = o->datasets_num_private_threads ? (int)o->datasets_num_private_threads : eg_threads();
    eg_dataset *d = eg_tfrecord_new(eg_path_in(o->data_dir, files).text, .shuffle_files = train, .seed = in->seed,
                                    .cycle = 10, .ahead = 16);
    d = o->datasets_use_caching ? eg_dataset_cache(d) : d;
    d = train ? eg_dataset_shuffle(d, 10000, .seed = in->seed) : d;
    eg_dataset *places = eg_dataset_repeat(eg_dataset_from(place, in->batch, NULL, NULL), 0);
    d = eg_dataset_zip((eg_dataset *[]){eg_dataset_repeat(d, 0), places}, 2);
    d = eg_dataset_map(d, prepare, &in->ways[train], .workers = threads, .seed = in->seed);
    return eg_dataset_batch(d, in->batch);
}

eg_dataset *input_batches(input *in, bool train, int64_t count)
{
    eg_dataset *d = in->o->data_dir ? read_records(in, train) : eg_dataset_from(give, count, in, NULL);
    d = train || !in->o->data_dir ? d : eg_dataset_take(d, count);
    bool ahead = in->o->data_dir && in->o->datasets_use_prefetch;
    return ahead ? eg_dataset_prefetch(d, in->o->datasets_prefetch_buffer_size) : d;
}
