/* videos.h - frames one after the other with the lens, the way of the camera and depths, as far as they are known. */
#ifndef EXAMPLES_DEPTH_VIDEOS_H
#define EXAMPLES_DEPTH_VIDEOS_H

#include <egret/egret.h>

/* Drawn, or in files. */
typedef struct video {
    int64_t count, height, width; /* frames; the size that they get */
    int64_t file_height, file_width;
    double lens[4];      /* fx, fy, cx, cy of that size */
    double (*poses)[12]; /* camera to world, 3 rows of 4, of each frame; NULL: not known */
    char **files;        /* NULL: drawn */
    eg_tensor *rgb, *depth;
} video;

typedef struct videos {
    video *at;
    int64_t count;
} videos;

/* EG_EIO, EG_EFORMAT for what is missing or is no such file. */
eg_status videos_read(videos *v, const char *folder, int64_t height, int64_t width);
eg_status videos_draw(videos *v, int64_t count, int64_t height, int64_t width);
/* Writes drawn ones as videos_read takes them. */
eg_status videos_write(const videos *v, const char *folder);
/* Room for so many, none of which is there yet. */
eg_status videos_make(videos *v, int64_t count);
void videos_free(videos *v);

/* Frame i, f32 [3, height, width] of 0..1, and its depths [1, height, width], 0 where none is known. */
eg_tensor *video_frame(const video *v, int64_t i);
eg_tensor *video_depth(const video *v, int64_t i);

/* Where the second camera is as the first one has it. */
void videos_way(const double first[12], const double second[12], double way[12]);
/* The lens of frames made larger by this, pixels being areas. */
void videos_scale_lens(double k[4], double across, double down);

#endif
