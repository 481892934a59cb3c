/* test_files.c - datasets of whole files: folders of images, archives, CIFAR's records. */
#define _POSIX_C_SOURCE 200809L
#include "tests/readers.h"

#include <sys/stat.h>

/* ---- CIFAR ---------------------------------------------------------------------------------- */

EGT(cifar_records)
{
    static uint8_t b[3 * 3074];
    for (int i = 0; i < 3 * 3074; i++) {
        b[i] = (uint8_t)(i % 251);
    }
    b[0] = 7;
    b[3073] = 9;
    egt_write(egt_path("a.bin"), b, 2 * 3073);
    eg_dataset *d = eg_cifar10_new(egt_path("*.bin"));
    EGT_EQ(eg_dataset_count(d), 2);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_item(sample[1]), k ? 9 : 7);
        EGT_EQ(eg_get(sample[0], 5), b[k * 3073 + 6]);
        EGT_EQ(eg_get(sample[0], 2 * 1024 + 33), b[k * 3073 + 1 + 2 * 1024 + 33]);
        EGT_EQ(eg_stride(sample[0], 0), 1);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    eg_dataset_free(d);
    b[3073] = 10;
    egt_write(egt_path("a.bin"), b, 2 * 3073);
    ENDS_WITH(eg_cifar10_new(egt_path("*.bin")), EG_EFORMAT, "label 10");
    egt_write(egt_path("a.bin"), b, 2 * 3073 - 1);
    EGT_REFUSED(eg_cifar10_new(egt_path("*.bin")), EG_EFORMAT, "whole number");
    b[0] = 3, b[1] = 77, b[3074] = 19, b[3075] = 99;
    egt_write(egt_path("a.bin"), b, 2 * 3074);
    d = eg_cifar100_new(egt_path("a.bin"));
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_EQ(eg_item(s[1]), 77);
    EGT_EQ(eg_item(s[2]), 3);
    EGT_CHECK(eg_dataset_next(d) && !eg_dataset_next(d));
    eg_dataset_free(d);
    EGT_REFUSED(eg_cifar10_new("/nowhere/*"), EG_EIO, "/nowhere");
}

EGT(real_cifar)
{
    eg_dataset *d = eg_cifar10_new(egt_real("cifar10/data_batch_1.first4000.bin"));
    static const int labels[] = {6, 9, 9, 4, 1, 1, 2, 7, 8, 3}; /* as published */
    EGT_EQ(eg_dataset_count(d), 4000);
    eg_tensor *const *s = eg_dataset_first(d);
    for (int i = 0; i < 10; i++, s = eg_dataset_next(d)) {
        EGT_CHECK(s);
        EGT_EQ(eg_item(s[1]), labels[i]);
    }
    eg_dataset_free(d);
}

/* ---- folders and files ---------------------------------------------------------------------- */

EGT(a_folder_for_each_class)
{
    EGT_REFUSED(eg_image_folder_new(egt_folder()), EG_EIO, "0 folders");
    mkdir(egt_path("zebra"), 0777);
    mkdir(egt_path("ant"), 0777);
    mkdir(egt_path(".hidden"), 0777);
    EGT_REFUSED(eg_image_folder_new(egt_folder()), EG_EIO, "2 folders and no image");
    write_text("zebra/2.jpg", "two");
    write_text("zebra/1.JPEG", "one");
    write_text("zebra/notes.txt", "no");
    write_text("ant/x.png", "");
    write_text("ant/.png", "no");
    static const char *const want[] = {"", "one", "two"};
    eg_dataset *d = eg_dataset_take(eg_image_folder_new(egt_folder()), 100);
    int64_t n = 0, k = 0;
    const char *const *classes = eg_image_folder_classes(d, &n);
    EGT_EQ(n, 2);
    EGT_STR(classes[0], "ant");
    EGT_STR(classes[1], "zebra");
    EGT_EQ(eg_dataset_count(d), 3);
    EG_FOR_EACH(sample, d) {
        EGT_CHECK(is_text(sample[0], want[k]));
        EGT_EQ(eg_item(sample[1]), k > 0);
        k++;
    }
    EGT_EQ(k, 3);
    eg_dataset_free(d);
    d = eg_files_new(egt_path("zebra/*"));
    eg_tensor *const *s = eg_dataset_first(d);
    EGT_CHECK(is_text(s[0], egt_path("zebra/1.JPEG")) && is_text(s[1], "one"));
    EGT_EQ(eg_dataset_count(d), 3);
    EGT_REFUSED(eg_image_folder_classes(d, &n), EG_EINVAL, "no folder of images");
    eg_dataset_free(d);
    EGT_REFUSED(eg_image_folder_new("/nowhere"), EG_EIO, "\"/nowhere\": No such");
    EGT_REFUSED(eg_image_folder_new(NULL), EG_EINVAL, "folder");
    EGT_REFUSED(eg_files_new("/nowhere/*"), EG_EIO, "/nowhere");
}

EGT(real_photos)
{
    eg_dataset *d = eg_image_folder_new(egt_real("cats_and_dogs/train"));
    int64_t n, labels[2] = {0, 0};
    EGT_STR(eg_image_folder_classes(d, &n)[0], "cats");
    EG_FOR_EACH(sample, d) {
        labels[(int)eg_item(sample[1])]++;
        EGT_EQ(eg_get(sample[0], 0), 0xff);
    }
    EGT_EQ(labels[0], 150);
    EGT_EQ(labels[1], 150);
    eg_dataset_free(d);
}

static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_image_decode_crop(eg_data(in[0]), (size_t)eg_numel(in[0]), 32, 24);
    out[1] = in[1];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

/* Threads that decode give the same pictures in the same order as one. */
EGT(real_photos_through_workers)
{
    enum { BATCHES = 6 };
    eg_tensor *want[BATCHES];
    for (int workers = 0; workers < 3; workers += 2) {
        eg_dataset *d = eg_dataset_shuffle(eg_image_folder_new(egt_real("cats_and_dogs/val")), 50, .seed = 3);
        d = eg_dataset_batch(eg_dataset_map(d, prepare, NULL, .workers = workers, .seed = 4), 16);
        int k = 0;
        EG_FOR_EACH(sample, d) {
            if (k < BATCHES && !workers) {
                want[k] = eg_keep(sample[0]);
            } else if (k < BATCHES) {
                EGT_EQ(egt_distance(sample[0], want[k]), 0);
                eg_release(want[k]);
            }
            k++;
        }
        if (eg_dataset_status(d) == EG_ENOKERNEL) {
            eg_clear_error();
            eg_dataset_free(d);
            egt_skip("built without JPEG");
        }
        EGT_EQ(k, 7);
        eg_dataset_free(d);
    }
}

/* A header of the old form, with its checksum. */
static size_t tar_header(char *to, const char *name, size_t size, char type)
{
    memset(to, 0, 512);
    strcpy(to, name);
    strcpy(to + 100, "0000644");
    strcpy(to + 108, "0000000");
    strcpy(to + 116, "0000000");
    snprintf(to + 124, 12, "%011o", (unsigned)size);
    strcpy(to + 136, "00000000000");
    memset(to + 148, ' ', 8);
    to[156] = type;
    memcpy(to + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++) {
        sum += (unsigned char)to[i];
    }
    snprintf(to + 148, 8, "%06o", sum);
    return 512;
}

/* A member of 2^31 bytes, of which GNU's sparse map says that all but the last 512 are zeros. */
EGT(a_small_tar_of_much)
{
    static char b[4096];
    size_t n = tar_header(b, "zeros", 512, 'S') + 512;
    memcpy(b + 257, "ustar  ", 8);
    memcpy(b + 386, "17777777000", 11); /* the place of one piece, its bytes, and those of the whole */
    memcpy(b + 398, "00000001000", 11);
    memcpy(b + 483, "020000000000", 12);
    memset(b + 148, ' ', 8);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++) {
        sum += (unsigned char)b[i];
    }
    snprintf(b + 148, 8, "%06o", sum);
    egt_write(egt_path("x.tar"), b, n + 1024);
    eg_dataset *d = eg_tar_new(egt_path("*.tar"));
    egt_need(d, "libarchive");
    eg_dataset_free(d);
    ENDS_WITH(eg_tar_new(egt_path("*.tar")), EG_EFORMAT, "in a file of 2048, at most 268435456 are unpacked");
    EGT_REFUSED(eg_unpack_limit(-1), EG_EINVAL, "bytes is -1");
}

EGT(tar_members)
{
    static char b[8192];
    size_t n = tar_header(b, "dir/", 0, '5');
    n += tar_header(b + n, "dir/a.txt", 5, '0');
    memcpy(b + n, "hello", 5);
    n += 512;
    n += tar_header(b + n, "empty", 0, '0');
    n += tar_header(b + n, "link", 0, '2');
    n += tar_header(b + n, "b", 600, '0');
    memset(b + n, 'b', 600);
    n += 1024;
    egt_write(egt_path("x.tar"), b, n + 1024);
    eg_dataset *d = eg_tar_new(egt_path("*.tar"));
    egt_need(d, "libarchive");
    for (int epoch = 0; epoch < 2; epoch++) {
        static const char *const names[] = {"dir/a.txt", "empty", "b"};
        static const int sizes[] = {5, 0, 600};
        int k = 0;
        EG_FOR_EACH(sample, d) {
            EGT_CHECK(is_text(sample[0], names[k]));
            EGT_EQ(eg_numel(sample[1]), sizes[k]);
            k++;
        }
        EGT_OK(eg_dataset_status(d));
        EGT_EQ(k, 3);
    }
    eg_dataset_free(d);
    EGT_OK(eg_unpack_limit(599));
    ENDS_WITH(eg_tar_new(egt_path("*.tar")), EG_EFORMAT, "x.tar, byte 2560: a member has 600 bytes or more");
    EGT_OK(eg_unpack_limit(0));
    egt_write(egt_path("x.tar"), b, n - 700);
    ENDS_WITH(eg_tar_new(egt_path("*.tar")), EG_EFORMAT, "libarchive");
    b[512] ^= 1; /* a wrong checksum */
    egt_write(egt_path("x.tar"), b, n);
    ENDS_WITH(eg_tar_new(egt_path("*.tar")), EG_EFORMAT, "libarchive");
}
