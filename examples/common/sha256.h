/* sha256.h - the checksum of a file, as sha256sum(1) prints it. */
#ifndef EXAMPLES_SHA256_H
#define EXAMPLES_SHA256_H

#include <egret/error.h>

enum { SHA256_TEXT = 65 };

/* 64 hexadecimal digits in lower case. */
eg_status sha256_of_file(const char *path, char text[SHA256_TEXT]);

#endif
