/* get_data.h - the facades of the authors of pix2pix, fetched once. */
#ifndef EXAMPLES_PIX2PIX_GET_DATA_H
#define EXAMPLES_PIX2PIX_GET_DATA_H

#include <egret/error.h>

/* Fetches facades.tar.gz (30,168,306 bytes; NULL for url: from its authors) into the folder, unpacks it and counts the
 * pictures: 400 to train with, 100 to validate, 106 to test, 512 x 256 pixels each. Nobody has published its SHA-256
 * sum: NULL for sha256 records the one it has when first fetched (download.h). */
eg_status pix2pix_get_data(const char *folder, const char *url, const char *sha256);

#endif
