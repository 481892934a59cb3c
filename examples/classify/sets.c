/* sets.c - see sets.h. */
#include "sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <egret/data/preprocess.h>
#include <egret/models.h>

/* ---- the table ---- */

/* As TF-Slim writes them. */
static eg_status parse_example(eg_tensor *record, eg_tensor **image, eg_tensor **label)
{
    static const eg_feature features[] = {{.name = "image/encoded", .dtype = EG_U8},
                                          {.name = "image/class/label", .dtype = EG_I64}};
    eg_tensor *found[2];
    eg_status st = eg_example_read(record, features, 2, found);
    *image = found[0];
    *label = found[1];
    return st;
}

static const set sets[] = {
    {.name = "mock", .classes = 100, .channels = 3},
    {"mnist", 10, 1, 60000, 10000, "mnist_train.tfrecord", "mnist_test.tfrecord", parse_example},
    {"cifar10", 10, 3, 50000, 10000, "cifar10_train.tfrecord", "cifar10_test.tfrecord", parse_example},
    {"flowers", 5, 3, 3320, 350, "flowers_train_*.tfrecord", "flowers_validation_*.tfrecord", parse_example},
    {"imagenet", 1001, 3, 1281167, 50000, "train-*", "validation-*", parse_example},
};

/* A set of any other name, whose files are those of the flags. */
static const set other = {.name = "other", .classes = 0, .channels = 3, .parse = parse_example};

const set *sets_find(const options *o)
{
    char names[256] = "";
    const char *name = o->dataset_name;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (strcasecmp(sets[i].name, name) == 0) {
            return &sets[i];
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", sets[i].name);
    }
    if (o->train_files || o->eval_files) {
        return &other;
    }
    eg_failf(EG_EINDEX, "classify", "--dataset_name is one of %s, or any name with --train_files, not '%.60s'", names,
             name);
    return NULL;
}

const char *sets_recipe(const char *name)
{
    for (int i = 0; i < eg_preprocess_count(); i++) {
        if (strcmp(eg_preprocess_at(i).name, name) == 0) {
            return name;
        }
    }
    for (int i = 0; i < eg_model_count(); i++) {
        if (strcmp(eg_model_at(i).name, name) == 0) {
            return eg_model_at(i).preprocessing;
        }
    }
    return eg_preprocess_find(name).name; /* NULL, with a message */
}

/* ---- records ---- */

/* The records of all patterns between commas, in their order. */
static eg_dataset *records(const char *folder, const char *patterns)
{
    enum { MOST = 1024 };
    eg_dataset *files[MOST];
    int n = 0;
    for (const char *at = patterns; at && n < MOST; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[EG_NAME_MOST + 1];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        files[n++] = eg_tfrecord_new(folder ? eg_path_in(folder, name).text : name);
    }
    return n == 1 ? files[0] : eg_dataset_concat(files, n);
}

/* What a record becomes on its way. */
typedef struct way {
    const set *of;
    char recipe[64];
    int64_t side, channels, offset;
    bool train;
} way;

static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    const way *w = user;
    eg_tensor *image = NULL, *label = NULL;
    (void)n;
    eg_status st = w->of->parse(in[0], &image, &label);
    if (st) {
        return st;
    }
    out[0] = eg_preprocess_decode(w->recipe, eg_data(image), (size_t)eg_numel(image), .side = w->side,
                                  .channels = w->channels, .train = w->train);
    out[1] = eg_sub_int(label, w->offset);
    *m = 2;
    return out[0] && out[1] ? EG_OK : eg_last_error()->code;
}

/* ---- made up ---- */

/* Images of ones, all of class 1, as many as --mock_batches: what is measured with them is the net. */
static eg_status make_up(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const way *w = user;
    (void)index;
    sample[0] = eg_ones(EG_SHAPE(w->channels, w->side, w->side), EG_F32);
    sample[1] = eg_full_int(EG_SCALAR, 1 - w->offset, EG_I64);
    *n = 2;
    return sample[0] && sample[1] ? EG_OK : eg_last_error()->code;
}

/* ---- batches ---- */

/* Those of the split: what the task asks for, or --dataset_split_name. */
static const char *files_of(const set *s, const options *o, bool train)
{
    bool judges = strcmp(o->task_type, "evaluate") == 0;
    if (o->dataset_split_name && train != judges) {
        train = strcasecmp(o->dataset_split_name, "train") == 0;
    }
    const char *given = train ? o->train_files : o->eval_files;
    return given ? given : train ? s->train_files : s->test_files;
}

/* With --smoke the examples of one batch, over and over: their loss falls within a few steps. */
static eg_dataset *source(const set *s, const options *o, way *w, bool train, bool smoke)
{
    const char *files = files_of(s, o, train);
    if (!s->parse) {
        return eg_dataset_from(make_up, o->mock_batches * o->batch_size, w, NULL);
    }
    if (!files) {
        eg_failf(EG_EINVAL, "classify", "--dataset_name %s: --train_files and --eval_files name its files",
                 o->dataset_name);
        return NULL;
    }
    eg_dataset *all = records(o->dataset_dir, files);
    all = smoke && train ? eg_dataset_take(all, o->batch_size) : all;
    return o->datasets_use_caching ? eg_dataset_cache(all) : all;
}

eg_dataset *sets_batches(eg_run *run, const set *s, const options *o, const char *recipe, int64_t side,
                         int64_t channels, uint64_t seed, bool train)
{
    way *w = calloc(1, sizeof *w);
    if (!w) {
        eg_fail(EG_ENOMEM, "classify", "out of memory");
    }
    if (eg_run_own(run, w, free)) { /* datasets read it as long as they live */
        return NULL;
    }
    *w = (way){.of = s, .side = side, .channels = channels, .offset = o->labels_offset, .train = train};
    snprintf(w->recipe, sizeof w->recipe, "%s", recipe);
    eg_dataset *d = source(s, o, w, train, eg_run_settings_of(run)->smoke);
    if (train) {
        d = eg_dataset_shuffle(d, o->shuffle_buffer_size, .seed = seed);
    }
    if (s->parse) {
        int64_t ahead = o->num_parallel_batches * o->batch_size;
        d = eg_dataset_map(d, prepare, w, .workers = (int)o->num_preprocessing_threads,
                           .ahead = ahead < 65535 ? ahead : 65535, .seed = seed);
    }
    d = eg_dataset_batch(d, o->batch_size);
    d = !train && o->max_num_batches ? eg_dataset_take(d, o->max_num_batches) : d;
    return o->prefetch_buffer_size ? eg_dataset_prefetch(d, o->prefetch_buffer_size) : d;
}
