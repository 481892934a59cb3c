/* infer.h - pictures of plans, by a net that pix2pix has trained. */
#ifndef EXAMPLES_PIX2PIX_INFER_H
#define EXAMPLES_PIX2PIX_INFER_H

#include "../common/run.h"

/* Makes "<name>-made.png" in the folder --out of each file: a plan, or a pair twice as wide as high
 * with the plan in its right half. model: a file of the generator; NULL: the latest checkpoint in
 * --out. Returns main's exit status after saying what went wrong. */
int pix2pix_infer(char *const *files, int count, const char *model, const run_options *o);

#endif
