/* sound.h - sounds on paper: how loud they are over time, and which frequencies. */
#ifndef DRAW_SOUND_H
#define DRAW_SOUND_H

#include "canvas.h"

typedef struct sound_sheet {
    const char *title;    /* NULL for none */
    const double *values; /* of a waveform rows x columns: a channel each row; of a spectrogram frames x bins */
    int rows, columns;
    double seconds;     /* from the first value to the end of the last; 0: values are counted instead */
    double hertz;       /* of a spectrogram: the last bin's; 0: bins are counted */
    double least, most; /* what the ends of its colour scale stand for; both 0: the values' own range */
    int width, height;  /* 0: 1200 x 360 */
} sound_sheet;

/* The highest and the lowest value in each column of pixels, channels below each other; what is not finite is left out.
 * Free the canvas with canvas_free. The font may be NULL: then there are no words. */
canvas *waveform_draw(const sound_sheet *s, const font *f);
/* Time to the right, frequencies upwards, the mean of what falls into a pixel as a colour. */
canvas *spectrogram_draw(const sound_sheet *s, const font *f);

#endif
