/* numbers.c - see numbers.h. */
#include "numbers.h"

#include <stdio.h>
#include <string.h>

/* ---- English ---------------------------------------------------------------------------------- */

static const char *const english[] = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
};
static const char *const english_tens[] = {"twenty", "thirty",  "forty",  "fifty",
                                           "sixty",  "seventy", "eighty", "ninety"};

static void say(char *text, const char *between, const char *word)
{
    size_t n = strlen(text);
    snprintf(text + n, NUMBER_TEXT - n, "%s%s", n ? between : "", word);
}

static void english_below_1000(int n, char *text)
{
    if (n >= 100) {
        say(text, " ", english[n / 100]);
        say(text, " ", "hundred");
        n %= 100;
    }
    if (n >= 20) {
        say(text, " ", english_tens[n / 10 - 2]);
        if (n % 10) {
            say(text, "-", english[n % 10]);
        }
    } else if (n) {
        say(text, " ", english[n]);
    }
}

void number_english(int n, char text[NUMBER_TEXT])
{
    *text = '\0';
    if (n >= 1000) {
        english_below_1000(n / 1000, text);
        say(text, " ", "thousand");
    }
    english_below_1000(n % 1000, text);
    say(text, "", n ? "" : english[0]);
}

/* ---- German, in one word, ones in front of tens ----------------------------------------------- */

static const char *const german[] = {
    "null", "ein", "zwei",  "drei",     "vier",     "fünf",     "sechs",    "sieben",   "acht",     "neun",
    "zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
};
static const char *const german_tens[] = {"zwanzig", "dreißig", "vierzig", "fünfzig",
                                          "sechzig", "siebzig", "achtzig", "neunzig"};

static void german_below_1000(int n, char *text)
{
    if (n >= 100) {
        say(text, "", german[n / 100]);
        say(text, "", "hundert");
        n %= 100;
    }
    if (n >= 20) {
        if (n % 10) {
            say(text, "", german[n % 10]);
            say(text, "", "und");
        }
        say(text, "", german_tens[n / 10 - 2]);
    } else if (n) {
        say(text, "", german[n]);
    }
}

void number_german(int n, char text[NUMBER_TEXT])
{
    *text = '\0';
    if (n >= 1000) {
        german_below_1000(n / 1000, text);
        say(text, "", "tausend");
    }
    german_below_1000(n % 1000, text);
    say(text, "", n % 100 == 1 ? "s" : n ? "" : german[0]); /* a one at the end is "eins" */
}
