/* base64.h - bytes as letters (RFC 4648), for terminals and pages. */
#ifndef EGRET_SHOW_BASE64_H
#define EGRET_SHOW_BASE64_H

#include <stddef.h>
#include <stdint.h>

enum { BASE64_PIECE = 3072, BASE64_LETTERS = BASE64_PIECE / 3 * 4 }; /* as many bytes at a time, and what they make */

/* Four letters of every three bytes that are begun, without a 0 behind them; how many. */
size_t base64_write(char *to, const uint8_t *bytes, size_t count);

#endif
