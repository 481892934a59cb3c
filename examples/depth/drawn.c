/* drawn.c - videos of flights, and as files (videos.h). */
#include <stdio.h>
#include <stdlib.h>

#include <egret/run.h>

#include "flight.h"
#include "videos.h"

enum { FLIGHT = 20 }; /* frames of one */

/* ---- drawing ----------------------------------------------------------------------------------- */

static eg_status draw_one(video *v, int64_t number)
{
    flight f;
    eg_status st = flight_new(&f, number);
    v->poses = calloc(FLIGHT, sizeof *v->poses);
    EG_SCOPE {
        v->rgb = eg_keep(eg_empty(EG_SHAPE(FLIGHT, 3, v->height, v->width), EG_U8));
        v->depth = eg_keep(eg_empty(EG_SHAPE(FLIGHT, v->height, v->width), EG_F32));
    }
    uint8_t *rgb = eg_data_mut(v->rgb);
    float *depth = eg_data_mut(v->depth);
    if (st || !rgb || !depth) {
        return eg_last_error()->code;
    }
    if (!v->poses) {
        return eg_fail(EG_ENOMEM, "depth", "out of memory for poses");
    }
    const int64_t pixels = v->height * v->width;
    v->count = FLIGHT;
    flight_intrinsics(v->height, v->width, v->lens);
    for (int64_t i = 0; i < FLIGHT; i++) {
        flight_pose(&f, i, v->poses[i]);
        flight_draw(&f, i, v->height, v->width, rgb + i * 3 * pixels, depth + i * pixels);
    }
    return EG_OK;
}

eg_status videos_draw(videos *v, int64_t count, int64_t height, int64_t width)
{
    eg_status st = videos_make(v, count);
    eg_device *before = eg_use_device(eg_cpu()); /* where frames come from files, too */
    for (int64_t i = 0; i < count && !st; i++) {
        v->at[v->count++] = (video){.height = height, .width = width};
        st = draw_one(&v->at[i], i);
    }
    eg_use_device(before);
    return st;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static eg_status write_text(const char *path, const char *label, const double *v, int n)
{
    FILE *f = fopen(path, "w");
    if (f) {
        fputs(label, f);
    }
    for (int i = 0; i < n && f; i++) {
        fprintf(f, "%.9g%c", v[i], i % 12 == 11 ? '\n' : ' ');
    }
    bool whole = f && !ferror(f);
    whole &= f && fclose(f) == 0;
    return whole ? EG_OK : eg_failf(EG_EIO, "depth", "cannot write %.200s", path);
}

static eg_status write_one(const video *v, const char *folder, const char *poses)
{
    const double p[12] = {v->lens[0], 0, v->lens[2], 0, 0, v->lens[1], v->lens[3], 0, 0, 0, 1, 0};
    eg_status st = eg_folder_make(eg_path_in(folder, "image_2").text);
    st = st ? st : eg_folder_make(eg_path_in(folder, "depth").text);
    st = st ? st : write_text(eg_path_in(folder, "calib.txt").text, "P2: ", p, 12);
    st = st ? st : write_text(poses, "", v->poses[0], 12 * (int)v->count);
    for (int64_t i = 0; i < v->count && !st; i++) {
        char name[40];
        EG_SCOPE {
            snprintf(name, sizeof name, "image_2/%06lld.png", (long long)i);
            st = eg_png_save(eg_select(v->rgb, 0, i), eg_path_in(folder, name).text);
            snprintf(name, sizeof name, "depth/%06lld.npy", (long long)i);
            st = st ? st : eg_npy_save(eg_select(v->depth, 0, i), eg_path_in(folder, name).text);
        }
    }
    return st;
}

eg_status videos_write(const videos *v, const char *folder)
{
    eg_status st = eg_folder_make(eg_path_in(folder, "poses").text);
    for (int64_t i = 0; i < v->count && !st; i++) {
        char sequence[40], poses[40];
        snprintf(sequence, sizeof sequence, "sequences/%02lld", (long long)i);
        snprintf(poses, sizeof poses, "poses/%02lld.txt", (long long)i);
        st = write_one(&v->at[i], eg_path_in(folder, sequence).text, eg_path_in(folder, poses).text);
    }
    return st;
}
