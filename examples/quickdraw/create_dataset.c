/* create_dataset.c - drawings of Quick, Draw!, one ndjson file a class, become sharded TFRecord files. */
#include "sets.h"

int main(int argc, char **argv)
{
    sets_options o = {.seed = 1};
    const eg_flag flags[] = {
        EG_FLAG_TEXT("ndjson-path", &o.from, ".", "DIR", "folder with *.ndjson, a class each"),
        EG_FLAG_TEXT("output-path", &o.to, ".", "DIR", "where the files go"),
        EG_FLAG_INTEGER("train-observations-per-class", &o.train, "10000", 1, 100000000, "drawings to learn from"),
        EG_FLAG_INTEGER("eval-observations-per-class", &o.eval, "1000", 1, 100000000, "drawings to be judged by"),
        EG_FLAG_INTEGER("output-shards", &o.shards, "10", 1, 1000, "files of each set"),
        EG_FLAG_INTEGER("seed", &o.seed, "1", 0, INT64_MAX, "says which drawing goes to which file"),
    };
    eg_flags line = {.program = "create_dataset",
                     .about = "Makes training.tfrecord-*, eval.tfrecord-* and training.tfrecord.classes of drawings.",
                     .table = flags,
                     .count = EG_FLAG_COUNT(flags)};
    int status;
    int64_t classes = 0, train = 0, eval = 0;
    if (!eg_flags_parse(&line, argc, argv, &status)) {
        return status;
    }
    eg_status st = eg_folder_make(o.to);
    st = st ? st : sets_write(&o, &classes, &train, &eval);
    if (st) {
        eg_error_print(stderr);
    } else {
        printf("%lld classes: %lld drawings to learn from, %lld to be judged by\n", (long long)classes,
               (long long)train, (long long)eval);
    }
    eg_flags_free(&line);
    return st != EG_OK;
}
