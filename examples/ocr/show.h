/* show.h - what was read, and from where, as pictures. */
#ifndef EXAMPLES_OCR_SHOW_H
#define EXAMPLES_OCR_SHOW_H

#include "charset.h"
#include "net.h"

enum { SHOW_BYTES = 1024 }; /* of a text */

/* Row i of what was read, or of the texts that there are, i64 [N, length], as a text. */
eg_status show_text(const charset *letters, eg_tensor *ids, int64_t i, char text[SHOW_BYTES]);

/* Signs [N, 3, side, views side] as the net sees them, each with what was read beneath, in red unless it is the text
 * there is. */
eg_tensor *show_read(const charset *letters, eg_tensor *images, eg_tensor *read, eg_tensor *texts);
/* A sign [3, side, views side], in its colours where it was looked at for each letter, [length, views, k, k]; of the
 * letters before the first null and that. */
eg_tensor *show_attention(const charset *letters, eg_tensor *image, eg_tensor *read, eg_tensor *weights);

#endif
