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

/* A JPEG file of 512 x 256 pixels. */
static bool right_picture(const char *path, problem *why)
{
    bool good = false;
    EG_SCOPE {
        eg_tensor *image = eg_image_load(path);
        int64_t height = eg_size(image, 1), width = eg_size(image, 2);
        good = image ? (width == 512 && height == 256) ||
                           problem_say(why, "%.300s has %lld x %lld pixels, not 512 x 256", path,
                                       (long long)width, (long long)height)
                     : problem_say(why, "%s", eg_last_error()->message);
    }
    return good;
}

static bool right_part(const run_folder *folder, const struct part *p, problem *why)
{
    run_folder in = {run_folder_path(folder, p->name)};
    DIR *list = opendir(in.path.text);
    bool good =
        list || problem_say(why, "cannot read the folder %s: %s", in.path.text, strerror(errno));
    int found = 0;
    for (struct dirent *e = list ? readdir(list) : NULL; e && good; e = readdir(list)) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && strcmp(dot, ".jpg") == 0) {
            good = right_picture(run_folder_path(&in, e->d_name).text, why);
            found++;
        }
    }
    if (list) {
        closedir(list);
    }
    return good && (found == p->pictures || problem_say(why, "%s has %d JPEG files, not %d",
                                                        in.path.text, found, p->pictures));
}

/* Moves the parts from where they were unpacked to their places, once all of them are right. */
static bool settle(const run_folder *folder, problem *why)
{
    run_folder unpacked = {run_folder_path(folder, "unpacked")},
               in = {run_folder_path(&unpacked, "facades")};
    for (int i = 0; i < PARTS; i++) {
        if (!right_part(&in, &parts[i], why)) {
            return false;
        }
    }
    for (int i = 0; i < PARTS; i++) {
        run_path to = run_folder_path(folder, parts[i].name);
        if (rename(run_folder_path(&in, parts[i].name).text, to.text) != 0) {
            return problem_say(why, "cannot make %s: %s", to.text, strerror(errno));
        }
    }
    rmdir(in.path.text);
    rmdir(unpacked.path.text);
    return true;
}

static bool get(const char *folder, const char *url, const char *sha256, problem *why)
{
    run_folder place;
    const download d = {
        .url = url ? url : "https://efrosgans.eecs.berkeley.edu/pix2pix/datasets/facades.tar.gz",
        .sha256 = sha256,
        .bytes = 30168306,
        .name = "facades.tar.gz",
        .unpack = "unpacked",
    };
    if (!run_folder_open(&place, folder, "", why)) {
        return false;
    }
    if (access(run_folder_path(&place, parts[PARTS - 1].name).text, F_OK) == 0) {
        for (int i = 0; i < PARTS; i++) {
            if (!right_part(&place, &parts[i], why)) {
                return false;
            }
        }
        return true;
    }
    return download_get(&d, folder, why) && settle(&place, why);
}

int pix2pix_get_data(char *const *words, int count, const char *folder, const char *url,
                     const char *sha256)
{
    problem why;
    if (count != 1 || strcmp(words[0], "get-data") != 0) {
        fprintf(stderr, "pix2pix: '%s' is not get-data; to make pictures of files say --infer\n",
                words[count > 1 && strcmp(words[0], "get-data") == 0]);
        return 2;
    }
    folder = folder ? folder : "egret-data/facades";
    if (!get(folder, url, sha256, &why)) {
        fprintf(stderr, "pix2pix: %s\n", why.text);
        return 1;
    }
    printf("%s has the facades: pix2pix --data %s\n", folder, folder);
    return 0;
}
