/* infer.h - pictures of plans, by a net that pix2pix has trained. */
#ifndef EXAMPLES_PIX2PIX_INFER_H
#define EXAMPLES_PIX2PIX_INFER_H

#include <egret/run.h>

/* Makes "<name>-made.png" in the run's folder of each file: a plan, or a pair twice as wide as high with the plan in
 * its right half. model: a file of the generator; NULL: the latest checkpoint there. The generator has that width. */
eg_status pix2pix_infer(eg_run *run, char *const *files, int count, const char *model, int64_t width);

#endif
