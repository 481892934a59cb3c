/* number.c - decimal numbers out of text. */
#include "lib/io/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/ops/dispatch.h"

bool eg__parse_integer(const char *s, int64_t n, int64_t *v)
{
    bool minus = n > 0 && s[0] == '-';
    int64_t i = minus || (n > 0 && s[0] == '+'), sum = 0;
    if (i == n) {
        return false;
    }
    for (; i < n; i++) {
        int digit = s[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_sub_overflow(sum, digit, &sum)) { /* downwards there is one number more */
            return false;
        }
    }
    *v = minus ? sum : -sum;
    return minus || sum != INT64_MIN;
}

static bool word(const char *s, int64_t n, double *v)
{
    static const struct {
        const char *name;
        double value;
    } known[] = {{"nan", (double)NAN}, {"inf", (double)INFINITY}, {"infinity", (double)INFINITY}};
    for (int k = 0; k < 3; k++) {
        int64_t i = 0;
        while (i < n && known[k].name[i] && (s[i] | 32) == known[k].name[i]) {
            i++;
        }
        if (i == n && !known[k].name[i]) {
            *v = known[k].value;
            return true;
        }
    }
    return false;
}

/* By strtod, for what needs more care than one multiplication: with the locale's point. */
static bool slowly(const char *s, int64_t n, double *v)
{
    char half[16], text[1200], *end;
    snprintf(half, sizeof half, "%.1f", 0.5); /* "0" point "5" */
    size_t point = strlen(half) - 2;
    if (n > 1100) {
        return false;
    }
    char *p = text;
    for (int64_t i = 0; i < n; i++) {
        if (s[i] == '.') {
            memcpy(p, half + 1, point);
            p += point;
        } else {
            *p++ = s[i];
        }
    }
    *p = 0;
    *v = strtod(text, &end);
    return end == p;
}

static bool fits(double v, eg_dtype dtype)
{
    double stored;
    eg__store(&stored, dtype, 0, v);
    return isfinite(eg__load(&stored, dtype, 0));
}

bool eg__parse_real(const char *s, int64_t n, eg_dtype dtype, double *v)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool minus = n > 0 && s[0] == '-';
    int64_t i = minus || (n > 0 && s[0] == '+'), digits = 0, scale = 0, exponent = 0, used = 0;
    uint64_t sum = 0;
    if (word(s + i, n - i, v)) {
        *v = minus ? -*v : *v;
        return true;
    }
    for (bool point = false; i < n && (s[i] == '.' ? !point : s[i] >= '0' && s[i] <= '9'); i++) {
        if (s[i] == '.') {
            point = true;
            continue;
        }
        digits++;
        scale -= point;
        used += used || s[i] != '0';
        sum = used <= 18 ? 10 * sum + (uint64_t)(s[i] - '0') : sum;
    }
    if (!digits) {
        return false;
    }
    if (i < n && (s[i] | 32) == 'e') {
        if (!eg__parse_integer(s + i + 1, n - i - 1, &exponent) || exponent > 1 << 20 || exponent < -(1 << 20)) {
            return false;
        }
        i = n;
    }
    if (i < n) {
        return false;
    }
    scale += exponent;
    /* Both are exact doubles, so one operation rounds once. */
    if (used <= 18 && sum <= (uint64_t)1 << 53 && scale >= -22 && scale <= 22) {
        *v = scale < 0 ? (double)sum / tens[-scale] : (double)sum * tens[scale];
        *v = minus ? -*v : *v;
        return fits(*v, dtype);
    }
    return slowly(s, n, v) && fits(*v, dtype);
}
