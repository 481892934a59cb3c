/* terminal.h - what the terminal can show, and how it is told. */
#ifndef EGRET_SHOW_TERMINAL_H
#define EGRET_SHOW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <egret/error.h>

typedef enum terminal_way {
    TERMINAL_WORDS,  /* no pictures at all */
    TERMINAL_BLOCKS, /* coloured half blocks: a character is two pixels */
    TERMINAL_SIXEL,  /* the graphics of DEC's terminals */
    TERMINAL_KITTY,  /* kitty's graphics protocol */
    TERMINAL_FILE    /* PNG files, wherever the terminal is */
} terminal_way;

typedef struct terminal {
    terminal_way way;
    int columns, rows;           /* characters */
    int cell_width, cell_height; /* pixels of one */
    int colours;                 /* 0, 256 or 1 << 24 */
    const char *path;            /* TERMINAL_FILE: where to; "%d" in it is the picture's number */
} terminal;

/* Finds out what stands behind `out`, from the environment and, once, from the terminal itself.
 * Fails for an EGRET_SHOW that means nothing. */
eg_status terminal_look(terminal *t, FILE *out);

/* ---- pictures: rows of red, green and blue ------------------------------------------------- */

void blocks_write(FILE *out, const uint8_t *pixels, int width, int height, int colours);

/* What makes the colour that of letters (layer 38) or that behind them (48); colours: 256 or 1 << 24. */
void blocks_colour(char *code, size_t size, int layer, const uint8_t *pixel, int colours);

/* A PNG file for kitty. */
void kitty_write(FILE *out, const uint8_t *png, size_t bytes);

/* Whether this build can. */
bool sixel_known(void);
eg_status sixel_write(FILE *out, const uint8_t *pixels, int width, int height);

#endif
