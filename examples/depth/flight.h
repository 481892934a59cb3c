/* flight.h - flights of a camera through halls that are drawn, of which all is known: depths, ways, the lens. */
#ifndef EXAMPLES_DEPTH_FLIGHT_H
#define EXAMPLES_DEPTH_FLIGHT_H

#include <egret/egret.h>

enum { FLIGHT_BOXES = 96, FLIGHT_NUMBERS = 16 };

typedef struct flight_box {
    double low[3], high[3];
    uint32_t skin;
} flight_box;

/* A hall: walls, floor and ceiling, pillars at the walls, crates on the floor; and a way along it, a little off its
 * middle. x to the right, y down, z ahead. */
typedef struct flight {
    flight_box boxes[FLIGHT_BOXES];
    int count;
    double low[3], high[3]; /* of the hall */
    double chance[FLIGHT_NUMBERS];
    uint32_t skin;
} flight;

/* Number i; the same one always. */
eg_status flight_new(flight *f, int64_t i);
/* Where its camera is at a frame and how it looks: camera to hall, 3 rows of 4. */
void flight_pose(const flight *f, int64_t frame, double pose[12]);
/* fx, fy, cx, cy in pixels of frames of this size. */
void flight_intrinsics(int64_t height, int64_t width, double k[4]);
/* A frame, rgb [3, height, width], and how far ahead each pixel's middle is, [height, width]. */
void flight_draw(const flight *f, int64_t frame, int64_t height, int64_t width, uint8_t *rgb, float *depth);

#endif
