/* get_data.c - see get_data.h. */
#define _XOPEN_SOURCE 700
#include "get_data.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <egret/egret.h>
#include <egret/run/folder.h>

#include "../common/download.h"

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

static eg_status right_part(const char *folder, const struct part *p)
{
    eg_path in = eg_path_in(folder, p->name);
    DIR *list = opendir(in.text);
    if (!list) {
        return eg_failf(EG_EIO, function, "cannot read the folder %s: %s", in.text, strerror(errno));
    }
    eg_status st = EG_OK;
    int found = 0;
    for (struct dirent *e = readdir(list); e && !st; e = readdir(list)) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && strcmp(dot, ".jpg") == 0) {
            st = right_picture(eg_path_in(in.text, e->d_name).text);
            found++;
        }
    }
    closedir(list);
    if (!st && found != p->pictures) {
        st = eg_failf(EG_EFORMAT, function, "%s has %d JPEG files, not %d", in.text, found, p->pictures);
    }
    return st;
}

static eg_status right_parts(const char *folder)
{
    eg_status st = EG_OK;
    for (int i = 0; i < PARTS && !st; i++) {
        st = right_part(folder, &parts[i]);
    }
    return st;
}

/* Moves the parts from where they were unpacked to their places, once all of them are right. */
static eg_status settle(const char *folder)
{
    eg_path unpacked = eg_path_in(folder, "unpacked"), in = eg_path_in(unpacked.text, "facades");
    eg_status st = right_parts(in.text);
    if (st) {
        return st;
    }
    for (int i = 0; i < PARTS; i++) {
        eg_path to = eg_path_in(folder, parts[i].name);
        if (rename(eg_path_in(in.text, parts[i].name).text, to.text) != 0) {
            return eg_failf(EG_EIO, function, "cannot make %s: %s", to.text, strerror(errno));
        }
    }
    rmdir(in.text);
    rmdir(unpacked.text);
    return EG_OK;
}

eg_status pix2pix_get_data(const char *folder, const char *url, const char *sha256)
{
    const download d = {
        .url = url ? url : "https://efrosgans.eecs.berkeley.edu/pix2pix/datasets/facades.tar.gz",
        .sha256 = sha256,
        .bytes = 30168306,
        .name = "facades.tar.gz",
        .unpack = "unpacked",
    };
    eg_status st = eg_folder_make(folder);
    if (!st && access(eg_path_in(folder, parts[PARTS - 1].name).text, F_OK) == 0) {
        return right_parts(folder);
    }
    st = st ? st : download_get(&d, folder);
    return st ? st : settle(folder);
}
