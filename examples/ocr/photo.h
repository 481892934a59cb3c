/* photo.h - what is on a photo of somebody's. */
#ifndef EXAMPLES_OCR_PHOTO_H
#define EXAMPLES_OCR_PHOTO_H

#include <egret/run.h>

#include "charset.h"
#include "net.h"

/* Says what a net in eval mode reads on the photo in a file, and draws from where as NAME-read.png in the run's folder.
 * A photo as wide as so many views are beside each other is these; of another all views are the same, in a square. */
eg_status photo_read(eg_run *run, eg_module *net, const ocr_sizes *sizes, const charset *letters, const char *file);

#endif
