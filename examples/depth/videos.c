/* videos.c - see videos.h. */
#include "videos.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <egret/run.h>

/* ---- places ------------------------------------------------------------------------------------ */

void videos_way(const double first[12], const double second[12], double way[12])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) {
                sum += first[4 * k + i] * (second[4 * k + j] - (j == 3 ? first[4 * k + 3] : 0));
            }
            way[4 * i + j] = sum;
        }
    }
}

void videos_scale_lens(double k[4], double across, double down)
{
    const double by[2] = {across, down};
    for (int i = 0; i < 2; i++) {
        k[i] *= by[i];
        k[2 + i] = (k[2 + i] + 0.5) * by[i] - 0.5;
    }
}

/* ---- reading ----------------------------------------------------------------------------------- */

eg_status videos_make(videos *v, int64_t count)
{
    *v = (videos){calloc((size_t)count, sizeof *v->at), 0};
    return v->at ? EG_OK : eg_fail(EG_ENOMEM, "depth", "out of memory for videos");
}

static bool is_there(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

static eg_status list_files(video *v, const char *folder, const char *images)
{
    glob_t found = {0};
    eg_path pattern = eg_path_in(eg_path_in(folder, images).text, "*.png");
    eg_status st = EG_OK;
    if (glob(pattern.text, 0, NULL, &found) || !(v->files = calloc(found.gl_pathc, sizeof *v->files))) {
        st = eg_failf(EG_EIO, "depth", "there are no frames %.200s", pattern.text);
    }
    for (size_t i = 0; i < found.gl_pathc && !st; i++) {
        const size_t size = strlen(found.gl_pathv[i]) + 1;
        v->files[i] = malloc(size);
        st = v->files[i] ? EG_OK : eg_fail(EG_ENOMEM, "depth", "out of memory for names");
        if (!st) {
            memcpy(v->files[i], found.gl_pathv[i], size);
            v->count++;
        }
    }
    globfree(&found);
    return st;
}

/* The projection of the camera whose frames they are: the line with its name, or where lines have none the first. */
static eg_status read_lens(video *v, const char *path, const char *images)
{
    FILE *f = fopen(path, "r");
    const bool opened = f;
    const char camera = images[strlen(images) - 1];
    char line[1000];
    double p[12];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *numbers = line[0] == 'P' && line[1] && line[2] == ':' ? line + 3 : line;
        found = (numbers == line || line[1] == camera) &&
                sscanf(numbers, "%lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf", p, p + 1, p + 2, p + 3, p + 4, p + 5,
                       p + 6, p + 7, p + 8, p + 9, p + 10, p + 11) == 12;
    }
    if (f) {
        fclose(f);
    }
    if (!found || !(p[0] > 0 && p[5] > 0)) {
        return eg_failf(opened ? EG_EFORMAT : EG_EIO, "depth", "%.200s: no projection of the camera of %s, 12 numbers",
                        path, images);
    }
    memcpy(v->lens, (double[4]){p[0], p[5], p[2], p[6]}, sizeof v->lens);
    return EG_OK;
}

static eg_status read_poses(video *v, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        return EG_OK; /* of most of KITTI's they are not published */
    }
    v->poses = calloc((size_t)v->count, sizeof *v->poses);
    bool whole = v->poses != NULL;
    for (int64_t i = 0; i < 12 * v->count && whole; i++) {
        whole = fscanf(f, "%lf", &v->poses[i / 12][i % 12]) == 1;
    }
    fclose(f);
    return whole      ? EG_OK
           : v->poses ? eg_failf(EG_EFORMAT, "depth", "%.200s: must have 12 numbers for each of %lld frames", path,
                                 (long long)v->count)
                      : eg_fail(EG_ENOMEM, "depth", "out of memory for poses");
}

static const char *const cameras[] = {"image_2", "image_0", "image_3", "image_1", "image_l"};

static const char *camera_of(const char *folder)
{
    for (size_t i = 0; i < sizeof cameras / sizeof *cameras; i++) {
        if (is_there(eg_path_in(folder, cameras[i]).text)) {
            return cameras[i];
        }
    }
    return NULL;
}

static eg_status read_one(video *v, const char *folder, const char *poses, int64_t height, int64_t width)
{
    const char *images = camera_of(folder);
    if (!images) {
        return eg_failf(EG_EIO, "depth", "%.200s has no frames in image_2, image_0, image_1, image_3 or image_l",
                        folder);
    }
    v->height = height;
    v->width = width;
    eg_status st = list_files(v, folder, images);
    st = st ? st : read_lens(v, eg_path_in(folder, "calib.txt").text, images);
    st = st ? st : read_poses(v, poses);
    EG_SCOPE {
        eg_tensor *first = st ? NULL : eg_image_load(v->files[0]);
        v->file_height = eg_size(first, 1);
        v->file_width = eg_size(first, 2);
        st = st || first ? st : eg_last_error()->code;
    }
    if (!st) {
        videos_scale_lens(v->lens, (double)width / (double)v->file_width, (double)height / (double)v->file_height);
    }
    return st;
}

eg_status videos_read(videos *v, const char *folder, int64_t height, int64_t width)
{
    glob_t found = {0};
    if (camera_of(folder)) {
        eg_status st = videos_make(v, 1);
        v->count = st ? 0 : 1;
        return st ? st : read_one(v->at, folder, eg_path_in(folder, "poses.txt").text, height, width);
    }
    if (glob(eg_path_in(folder, "sequences/*").text, 0, NULL, &found)) {
        return eg_failf(EG_EIO, "depth", "%.200s has neither sequences nor frames as image_2", folder);
    }
    eg_status st = videos_make(v, (int64_t)found.gl_pathc);
    for (size_t i = 0; i < found.gl_pathc && !st; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        char poses[EG_PATH_SIZE];
        snprintf(poses, sizeof poses, "poses/%.200s.txt", name);
        v->count++;
        st = read_one(&v->at[i], found.gl_pathv[i], eg_path_in(folder, poses).text, height, width);
    }
    globfree(&found);
    return st;
}

/* ---- frames ------------------------------------------------------------------------------------ */

eg_tensor *video_frame(const video *v, int64_t i)
{
    if (!v->files) {
        return eg_image_to_float(eg_select(v->rgb, 0, i));
    }
    eg_tensor *image = eg_image_load(v->files[i], .channels = 3);
    if (image && (eg_size(image, 1) != v->file_height || eg_size(image, 2) != v->file_width)) {
        eg_failf(EG_EFORMAT, "depth", "%.200s: must be of the size of the video's first frame", v->files[i]);
        return NULL;
    }
    return eg_image_resize(eg_image_to_float(image), v->height, v->width, .antialias = true);
}

eg_tensor *video_depth(const video *v, int64_t i)
{
    if (!v->files) {
        return eg_unsqueeze(eg_select(v->depth, 0, i), 0);
    }
    char path[EG_PATH_SIZE];
    const char *name = strrchr(v->files[i], '/') + 1;
    snprintf(path, sizeof path, "%.*s../depth/%.*s.npy", (int)(name - v->files[i]), v->files[i],
             (int)strcspn(name, "."), name);
    if (!is_there(path)) {
        return eg_zeros(EG_SHAPE(1, v->height, v->width), EG_F32);
    }
    eg_tensor *depth = eg_cast(eg_npy_load(path), EG_F32);
    if (depth && eg_ndim(depth) != 2) {
        eg_failf(EG_EFORMAT, "depth", "%.200s: depths must have two axes", path);
        return NULL;
    }
    return eg_image_resize(eg_unsqueeze(depth, 0), v->height, v->width, .mode = EG_RESIZE_NEAREST_EXACT);
}

/* ---- the end ----------------------------------------------------------------------------------- */

void videos_free(videos *v)
{
    for (int64_t i = 0; i < v->count; i++) {
        video *one = &v->at[i];
        for (int64_t k = 0; k < one->count && one->files; k++) {
            free(one->files[k]);
        }
        free(one->files);
        free(one->poses);
        eg_release(one->rgb);
        eg_release(one->depth);
    }
    free(v->at);
}
