/* convert.c - makes TFRecord files of MNIST, CIFAR-10 or flowers, from files that are here or fetched. */
#include <stdio.h>
#include <string.h>

#include <egret/run/flags.h>
#include <egret/run/folder.h>

#include "../common/download.h"
#include "../common/published.h"
#include "convert.h"

static eg_status get_mnist(const char *folder, const char *url, const char *sha256)
{
    (void)sha256;
    return published_mnist(folder, url);
}

static eg_status get_flowers(const char *folder, const char *url, const char *sha256)
{
    const download d = {
        .url = url ? url : "https://storage.googleapis.com/download.tensorflow.org/example_images/flower_photos.tgz",
        .sha256 = sha256 ? sha256 : "4c54ace7911aaffe13a365c34f650e71dd5bf1be0a58b464e5a7183e3e595d9c",
        .bytes = url ? 0 : 228813984,
        .unpack = "unpacked",
    };
    return download_get(&d, folder);
}

static const struct set {
    const char *name;
    eg_status (*get)(const char *folder, const char *url, const char *sha256);
    const char *got; /* where in the folder they are then */
    eg_status (*convert)(const char *from, const char *to, const convert_split *split);
} sets[] = {
    {"mnist", get_mnist, "", convert_mnist},
    {"cifar10", published_cifar10, "unpacked", convert_cifar10},
    {"flowers", get_flowers, "unpacked", convert_flowers},
};
enum { SETS = sizeof sets / sizeof *sets };

static const struct set *find(const char *name)
{
    for (int i = 0; i < SETS; i++) {
        if (strcmp(sets[i].name, name) == 0) {
            return &sets[i];
        }
    }
    return NULL;
}

typedef struct options {
    const char *from, *to, *downloads, *url, *sha256;
    convert_split split;
    int64_t seed;
} options;

static int run(const struct set *s, const options *o)
{
    eg_path got = eg_path_in(o->downloads, s->name), unpacked = eg_path_in(got.text, s->got);
    const char *from = o->from ? o->from : *s->got ? unpacked.text : got.text, *to = o->to ? o->to : got.text;
    eg_status st = o->from ? EG_OK : s->get(got.text, o->url, o->sha256);
    st = st ? st : s->convert(from, to, &o->split);
    if (st) {
        return eg_error_print(stderr);
    }
    printf("%s has the records of %s\n", to, s->name);
    return 0;
}

int main(int argc, char **argv)
{
    options o;
    const eg_flag table[] = {
        EG_FLAG_TEXT("from", &o.from, NULL, "DIR", "folder with the files of the set; without it they are fetched"),
        EG_FLAG_TEXT("to", &o.to, NULL, "DIR", "folder for the records; without it where files are fetched to"),
        EG_FLAG_TEXT("downloads", &o.downloads, "egret-data", "DIR",
                     "folder with a folder for each set that is fetched"),
        EG_FLAG_TEXT("url", &o.url, NULL, "URL", "fetch from here: an archive, of mnist the folder of its four files"),
        EG_FLAG_TEXT("sha256", &o.sha256, NULL, "SUM", "of the archive there"),
        EG_FLAG_INTEGER("validation", &o.split.validation, "0", 0, 1000000000,
                        "flowers to validate with; 0: 350, of fewer than 3,500 a tenth"),
        EG_FLAG_INTEGER("shards", &o.split.shards, "5", 1, 99999, "files of each part of the flowers"),
        EG_FLAG_INTEGER("seed", &o.seed, "0", 0, INT64_MAX, "of the order the flowers are in"),
    };
    eg_flags line = {.program = "egret-convert",
                     .about =
                         "Makes TFRecord files of a set of labelled images, mnist, cifar10 or flowers: records with\n"
                         "image/encoded, image/format, image/class/label, image/height and image/width.",
                     .table = table,
                     .count = EG_FLAG_COUNT(table),
                     .operand = "SET",
                     .least_operands = 1,
                     .most_operands = 1};
    int status;
    if (!eg_flags_parse(&line, argc, argv, &status)) {
        return status;
    }
    const struct set *s = find(line.operands[0]);
    o.split.seed = (uint64_t)o.seed;
    if (s) {
        status = run(s, &o);
    } else {
        fprintf(stderr, "egret-convert: there is no set '%s', but mnist, cifar10 and flowers\n", line.operands[0]);
        status = 2;
    }
    eg_flags_free(&line);
    return status;
}
