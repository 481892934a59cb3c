/* text.h - what text.c and vocabulary.c share. */
#ifndef EGRET_TEXT_H
#define EGRET_TEXT_H

#include <egret/data/text.h>
#include <egret/ops.h>

#include "data/readers/bytes.h"

/* A text's bytes, dense; NULL with words if it is no u8 [n]. */
eg_tensor *eg__text_check(const char *op, eg_tensor *text);
/* The next word at or behind *at: its begin in *at, bytes in *n, 0 at the end. */
eg_status eg__next_word(const char *op, const uint8_t *s, int64_t size, int64_t *at, int64_t *n);
/* Whether it has Unicode's property White_Space. */
bool eg__is_blank(int32_t c);

/* Characters as utf8proc knows them; EG_ENOKERNEL without it. */
eg_status eg__characters_open(const char *op);
/* After that: the general category, "Nd". */
const char *eg__category(int32_t c);
/* Character i of n in lower case, as Python's str.lower() has it: one character, or two. Returns how many. */
int eg__lower_at(const int32_t *c, int64_t n, int64_t i, int32_t to[2]);

#endif
