/* sets.c - MNIST, CIFAR-10 and flowers, each from the form it is published in. */
#define _POSIX_C_SOURCE 200809L
#include <glob.h>
#include <sys/stat.h>

#include "convert.h"
#include "records.h"

static const char function[] = "convert";

/* ---- images in memory, as PNG ------------------------------------------------------------------------ */

/* Each image u8 [C, H, W] and its label, from a dataset that is freed. */
static eg_status write_images(eg_dataset *d, const char *to, const char *name)
{
    records r;
    eg_status st = d ? EG_OK : eg_last_error()->code;
    if (st) {
        return st;
    }
    records_begin(&r, to, name, eg_dataset_count(d), 0);
    EG_FOR_EACH(sample, d) {
        eg_tensor *image = sample[0], *png = eg_png_encode(image);
        st = png ? EG_OK : eg_last_error()->code;
        st = st ? st : records_add(&r, png, "png", eg_item_int(sample[1]), eg_size(image, 1), eg_size(image, 2));
        if (st) {
            break;
        }
    }
    st = records_end(&r, st ? st : eg_dataset_status(d));
    eg_dataset_free(d);
    return st;
}

/* ---- MNIST ------------------------------------------------------------------------------------------- */

static eg_status as_bytes(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_image_to_u8(in[0]);
    out[1] = in[1];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

eg_status convert_mnist(const char *from, const char *to, const convert_split *split)
{
    static const char *const digits[] = {"zero", "one", "two",   "three", "four",
                                         "five", "six", "seven", "eight", "nine"};
    (void)split;
    eg_status st = eg_folder_make(to);
    st = st ? st : write_images(eg_dataset_map(eg_mnist_new(from, EG_TRAIN), as_bytes, NULL), to, "mnist_train");
    st = st ? st : write_images(eg_dataset_map(eg_mnist_new(from, EG_TEST), as_bytes, NULL), to, "mnist_test");
    return st ? st : labels_write(to, digits, 10);
}

/* ---- CIFAR-10 ---------------------------------------------------------------------------------------- */

static bool any_matches(const char *pattern)
{
    glob_t found;
    bool any = !glob(pattern, 0, NULL, &found);
    if (any) {
        globfree(&found);
    }
    return any;
}

/* The folder in `from` of that name, or `from` itself if there is none. */
static eg_path inner(const char *from, const char *name)
{
    struct stat about;
    eg_path in = eg_path_in(from, name);
    if (stat(in.text, &about) || !S_ISDIR(about.st_mode)) {
        snprintf(in.text, sizeof in.text, "%s", from);
    }
    return in;
}

eg_status convert_cifar10(const char *from, const char *to, const convert_split *split)
{
    static const char *const names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                        "dog",      "frog",       "horse", "ship", "truck"};
    (void)split;
    eg_path in = inner(from, "cifar-10-batches-bin");
    eg_path train = eg_path_in(in.text, "data_batch*.bin"), test = eg_path_in(in.text, "test_batch*.bin");
    bool trains = any_matches(train.text), tests = any_matches(test.text);
    eg_status st = eg_folder_make(to);
    if (!st && !trains && !tests) {
        st = eg_failf(EG_EIO, function, "%.160s has neither data_batch*.bin nor test_batch*.bin", in.text);
    }
    st = st || !trains ? st : write_images(eg_cifar10_new(train.text), to, "cifar10_train");
    st = st || !tests ? st : write_images(eg_cifar10_new(test.text), to, "cifar10_test");
    return st ? st : labels_write(to, names, 10);
}

/* ---- flowers ----------------------------------------------------------------------------------------- */

/* The files as they are; each is decoded to see that it can be. */
static eg_status add_file(records *r, eg_tensor *const *sample)
{
    eg_tensor *bytes = sample[0];
    eg_tensor *image = eg_image_decode(eg_data(bytes), (size_t)eg_numel(bytes));
    if (!image) {
        return eg_last_error()->code;
    }
    const char *format = eg_get(bytes, 0) == 0x89 ? "png" : "jpg";
    return records_add(r, bytes, format, eg_item_int(sample[1]), eg_size(image, 1), eg_size(image, 2));
}

/* The first `validation` of a walk, then the others. */
static eg_status write_parts(eg_dataset *d, const char *to, int64_t validation, int64_t shards)
{
    records r;
    eg_status st = EG_OK;
    int64_t seen = 0, all = eg_dataset_count(d);
    records_begin(&r, to, "flowers_validation", validation, shards);
    EG_FOR_EACH(sample, d) {
        if (seen++ == validation) {
            st = records_end(&r, st);
            records_begin(&r, to, "flowers_train", all - validation, shards);
        }
        st = st ? st : add_file(&r, sample);
        if (st) {
            break;
        }
    }
    return records_end(&r, st ? st : eg_dataset_status(d));
}

eg_status convert_flowers(const char *from, const char *to, const convert_split *split)
{
    enum { USUAL = 350, FEW = 3500 };
    eg_dataset *photos = eg_image_folder_new(inner(from, "flower_photos").text);
    int64_t n = 0, all = photos ? eg_dataset_count(photos) : 0;
    eg_dataset *d = photos ? eg_dataset_shuffle(photos, all, .seed = split->seed) : NULL;
    const char *const *classes = d ? eg_image_folder_classes(d, &n) : NULL;
    int64_t validation = split->validation ? split->validation : all < FEW ? (all + 9) / 10 : USUAL;
    eg_status st = classes ? EG_OK : eg_last_error()->code;
    if (!st && (validation < split->shards || all - validation < split->shards)) {
        st = eg_failf(EG_EINVAL, function,
                      "%lld images, %lld of them to validate, are too few for %lld files of each: use a "
                      "smaller --shards or --validation",
                      (long long)all, (long long)validation, (long long)split->shards);
    }
    st = st ? st : eg_folder_make(to);
    st = st ? st : write_parts(d, to, validation, split->shards);
    st = st ? st : labels_write(to, classes, n);
    eg_dataset_free(d);
    return st;
}
