/* checks.h - what operations on images ask of x. */
#ifndef EGRET_IMAGE_CHECKS_H
#define EGRET_IMAGE_CHECKS_H

#include "lib/core/device.h"
#include "lib/ops/dispatch.h"

/* [.., C, H, W], u8 or floats. */
eg_status eg__check_image(const eg_tensor *x, const char *op);
/* The same of 1 or 3 channels, and a factor that is not negative. */
eg_status eg__check_colours(const eg_tensor *x, const char *op, double factor);
eg_status eg__check_finite(const char *op, const char *name, double v);

#endif
