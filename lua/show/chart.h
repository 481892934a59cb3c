/* chart.h - curves made of characters: braille's dots, 2 x 4 to a character. */
#ifndef EGRET_SHOW_CHART_H
#define EGRET_SHOW_CHART_H

#include <stdio.h>

#include "draw/plot.h"

/* Writes the plot in lines of at most `columns` characters, its field `rows` high. colours: 0, 256
 * or 1 << 24; without any, several curves have numbers at their ends. Fails if there is not one
 * point. */
eg_status chart_write(FILE *out, const plot *p, int columns, int rows, int colours);

#endif
