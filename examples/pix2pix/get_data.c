/* get_data.c - see get_data.h. */
#define _XOPEN_SOURCE 700
#include "get_data.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <egret/egret.h>

#include "../common/download.h"
#include "../common/run_folder.h"

static const struct part {
    const char *name;
    int pictures;
} parts[] = {{"train", 400}, {"val", 100}, {"test", 106}};

enum { PARTS = sizeof parts / sizeof *parts };

static const char function[] = "pix2pix";

/* A JPEG file of 512 x 256 pixels. */
static eg_status right_picture(const char *path)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *image = eg_image_load(path);
        int64_t height = eg_size(image, 1), width = eg_size(image, 2);
        st = image ? EG_OK : eg_last_error()->code;
        if (!st && (width != 512 || height != 256)) {
            st = eg_failf(EG_EFORMAT, function, "%.180s has %lld x %lld pixels, not 512 x 256", path, (long long)width,
                          (long long)height);
        }
    }
    return st;
}

static eg_status right_part(const run_folder *folder, const struct part *p)
{
    run_folder in = {run_folder_path(folder, p->name)};
    DIR *list = opendir(in.path.text);
    if (!list) {
        return eg_failf(EG_EIO, function, "cannot read the folder %s: %s", in.path.text, strerror(errno));
    }
    eg_status st = EG_OK;
    int found = 0;
    for (struct dirent *e = readdir(list); e && !st; e = readdir(list)) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && strcmp(dot, ".jpg") == 0) {
            st = right_picture(run_folder_path(&in, e->d_name).text);
            found++;
        }
    }
    closedir(list);
    if (!st && found != p->pictures) {
        st = eg_failf(EG_EFORMAT, function, "%s has %d JPEG files, not %d", in.path.text, found, p->pictures);
    }
    return st;
}

static eg_status right_parts(const run_folder *folder)
{
    eg_status st = EG_OK;
    for (int i = 0; i < PARTS && !st; i++) {
        st = right_part(folder, &parts[i]);
    }
    return st;
}

/* Moves the parts from where they were unpacked to their places, once all of them are right. */
static eg_status settle(const run_folder *folder)
{
    run_folder unpacked = {run_folder_path(folder, "unpacked")}, in = {run_folder_path(&unpacked, "facades")};
    eg_status st = right_parts(&in);
    if (st) {
        return st;
    }
    for (int i = 0; i < PARTS; i++) {
        run_path to = run_folder_path(folder, parts[i].name);
        if (rename(run_folder_path(&in, parts[i].name).text, to.text) != 0) {
            return eg_failf(EG_EIO, function, "cannot make %s: %s", to.text, strerror(errno));
        }
    }
    rmdir(in.path.text);
    rmdir(unpacked.path.text);
    return EG_OK;
}

static eg_status get(const char *folder, const char *url, const char *sha256)
{
    run_folder place;
    const download d = {
        .url = url ? url : "https://efrosgans.eecs.berkeley.edu/pix2pix/datasets/facades.tar.gz",
        .sha256 = sha256,
        .bytes = 30168306,
        .name = "facades.tar.gz",
        .unpack = "unpacked",
    };
    eg_status st = run_folder_open(&place, folder, "");
    if (st) {
        return st;
    }
    if (access(run_folder_path(&place, parts[PARTS - 1].name).text, F_OK) == 0) {
        return right_parts(&place);
    }
    st = download_get(&d, folder);
    return st ? st : settle(&place);
}

int pix2pix_get_data(char *const *words, int count, const char *folder, const char *url, const char *sha256)
{
    if (count != 1 || strcmp(words[0], "get-data") != 0) {
        fprintf(stderr, "pix2pix: '%s' is not get-data; to make pictures of files say --infer\n",
                words[count > 1 && strcmp(words[0], "get-data") == 0]);
        return 2;
    }
    folder = folder ? folder : "egret-data/facades";
    if (get(folder, url, sha256)) {
        return eg_error_print(stderr);
    }
    printf("%s has the facades: pix2pix --data %s\n", folder, folder);
    return 0;
}
