/* made.c - see made.h. A voice is a row of harmonics; a vowel says which of them are loud, by where its two formants
 * lie (Peterson and Barney 1952). */
#include "made.h"

#include <egret/ops.h>
#include <math.h>

const char *const made_words[MADE_WORDS] = {"yes",  "no", "up",  "down", "left", "right", "on",  "off",
                                            "stop", "go", "bed", "bird", "cat",  "dog",   "two", "three"};

enum { VOWELS = 8, LONGEST = 3 };

static const double formants[VOWELS][2] = {{270, 2290}, {390, 1990}, {530, 1840}, {660, 1720},
                                           {730, 1090}, {570, 840},  {440, 1020}, {300, 870}};

/* The vowels of each word, one gliding into the next. */
static const int spelt[MADE_WORDS][LONGEST] = {{0, 3, 2}, {5, 5, 7}, {4, 4, 6}, {4, 5, 7}, {2, 2, 3}, {4, 1, 0},
                                               {5, 5, 5}, {5, 4, 4}, {6, 5, 4}, {7, 5, 7}, {3, 3, 3}, {6, 6, 6},
                                               {3, 3, 1}, {4, 5, 4}, {7, 7, 7}, {0, 0, 0}};

/* How loud a harmonic of f Hz is between vowels, 0 <= at < LONGEST. */
static double loudness(const int *vowels, double at, double f, double tract)
{
    int i = (int)at, next = i + 1 < LONGEST ? i + 1 : i;
    double sum = 0.02;
    for (int k = 0; k < 2; k++) {
        double a = formants[vowels[i]][k], b = formants[vowels[next]][k];
        double off = (f - tract * (a + (b - a) * (at - i))) / (80.0 + 40 * k);
        sum += off * off < 80 ? exp(-0.5 * off * off) * (k ? 0.5 : 1) : 0; /* beyond that less than a rounding */
    }
    return sum;
}

eg_tensor *made_say(int word, int64_t voice, int64_t take, int64_t rate, int64_t samples)
{
    double c[6];
    eg_seed(0x701ce + (uint64_t)voice);
    eg_status st = eg_to_values(eg_uniform(EG_SHAPE(6), 0, 1, EG_F64), c);
    double pitch = 90 + 140 * c[0], tract = 0.9 + 0.25 * c[1];
    eg_seed(0x7a4e + (uint64_t)(take * 1000003 + voice * 1009 + word));
    st = st ? st : eg_to_values(eg_uniform(EG_SHAPE(6), 0, 1, EG_F64), c);
    double lasts = 0.35 + 0.25 * c[0], begins = c[1] * (0.95 - lasts), bend = 0.2 * (c[2] - 0.5);
    eg_tensor *sound = eg_normal(EG_SHAPE(samples), 0, 0.003, EG_F32);
    float *x = eg_data_mut(sound);
    double phase = 0, clip = (double)samples / (double)rate;
    for (int64_t i = 0; x && !st && i < samples; i++) {
        double at = ((double)i / (double)rate / clip - begins) / lasts;
        if (at < 0 || at >= 1) {
            continue;
        }
        double f = pitch * (1 + bend * at), sum = 0;
        phase += 6.283185307179586 * f / (double)rate;
        const double twice = 2 * cos(phase);
        double wave = sin(phase), before = 0; /* sin((k + 1) phase) = 2 cos(phase) sin(k phase) - sin((k - 1) phase) */
        for (int k = 1; k * f < 4000 && k * f < (double)rate / 2; k++) {
            sum += loudness(spelt[word], at * LONGEST, k * f, tract) * wave;
            const double after = twice * wave - before;
            before = wave;
            wave = after;
        }
        x[i] += (float)(0.15 * sum * sin(3.141592653589793 * at));
    }
    return x && !st ? sound : NULL;
}
