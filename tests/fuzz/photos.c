/* photos.c - any bytes as annotations: COCO's if they begin with a brace, VOC's with a tag, else as YOLO's and as the
 * runs of a mask. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

static char folder[64];
static const char *const below[] = {"/ImageSets/Main/one.txt",
                                    "/Annotations/a.xml",
                                    "/JPEGImages/a.jpg",
                                    "/ImageSets/Main",
                                    "/ImageSets",
                                    "/Annotations",
                                    "/JPEGImages",
                                    "",
                                    "/JPEGImages/a.txt",
                                    "/JPEGImages/*.jpg"};

static const char *path_of(int i)
{
    static char path[128];
    snprintf(path, sizeof path, "%s%s", folder, below[i]);
    return path;
}

static void remove_folder(void)
{
    remove(path_of(8));
    for (int i = 0; i < 8; i++) {
        remove(path_of(i));
    }
}

static void put(int i, const void *data, size_t size)
{
    FILE *f = fopen(path_of(i), "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
        abort();
    }
}

static void make_folder(void)
{
    static const int folders[] = {4, 3, 5, 6};
    if (*folder) {
        return;
    }
    snprintf(folder, sizeof folder, "/tmp/egret-fuzz-photos-XXXXXX");
    if (!mkdtemp(folder) || atexit(remove_folder)) {
        abort();
    }
    for (int i = 0; i < 4; i++) {
        if (mkdir(path_of(folders[i]), 0700)) {
            abort();
        }
    }
    put(0, "a\n", 2);
    put(2, "photo", 5);
}

static void walk(eg_dataset *d)
{
    int64_t classes = 0;
    fuzz_expect(d != NULL);
    if (d && !eg_photo_classes(d, &classes) && classes) {
        abort();
    }
    d = d ? eg_dataset_tolerate(d) : NULL;
    EG_FOR_EACH(sample, d) {
        const int64_t n = eg_size(sample[1], 0);
        const int64_t *label = eg_data(sample[2]);
        for (int64_t i = 0; i < n; i++) {
            if (label[i] < 0 || label[i] >= classes) {
                abort();
            }
        }
    }
    if (d && eg_dataset_status(d)) {
        abort();
    }
    eg_dataset_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char runs[256];
    eg_clear_error();
    make_folder();
    if (size && data[0] == '{') {
        walk(eg_coco_new(fuzz_file(data, size), folder, .masks = true));
    } else if (size && data[0] == '<') {
        put(1, data, size);
        walk(eg_voc_new(folder, "one"));
    } else {
        put(8, data, size);
        walk(eg_yolo_new(path_of(9), NULL));
        snprintf(runs, sizeof runs, "%.*s", (int)(size < 255 ? size : 255), (const char *)data);
        EG_SCOPE {
            eg_tensor *mask = eg_mask_decode(runs, 7, 5);
            fuzz_expect(mask != NULL);
            if (mask && !eg_mask_encode(mask)) {
                abort();
            }
        }
    }
    return 0;
}
