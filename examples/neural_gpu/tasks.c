/* tasks.c - see tasks.h. Numbers have their lowest digit first. */
#include "tasks.h"

#include <stddef.h>
#include <string.h>

static int digit(const task *t, double chance)
{
    return (int)(chance * t->base) + 1;
}

static void draw(const task *t, const double *chance, int n, int *in)
{
    for (int i = 0; i < n; i++) {
        in[i] = digit(t, chance[i]);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Two numbers of n digits with the operator between them. */
static void draw_two(const task *t, const double *chance, int n, int *in)
{
    draw(t, chance, n, in);
    in[n] = t->base + 1;
    draw(t, chance + n, n, in + n + 1);
}

static void add(const task *t, const double *chance, int n, int *in, int *out)
{
    int carry = 0;
    draw_two(t, chance, n, in);
    for (int i = 0; i <= n; i++) {
        int sum = carry + (i < n ? in[i] + in[n + 1 + i] - 2 : 0);
        out[i] = sum % t->base + 1;
        carry = sum / t->base;
    }
}

static void multiply(const task *t, const double *chance, int n, int *in, int *out)
{
    draw_two(t, chance, n, in);
    for (int i = 0; i < 2 * n; i++) {
        out[i] = 1;
    }
    for (int i = 0; i < n; i++) {
        int carry = 0;
        for (int k = 0; k < n || carry; k++) {
            int sum = out[i + k] - 1 + carry + (k < n ? (in[i] - 1) * (in[n + 1 + k] - 1) : 0);
            out[i + k] = sum % t->base + 1;
            carry = sum / t->base;
        }
    }
}

static void increment(const task *t, const double *chance, int n, int *in, int *out)
{
    int carry = 1;
    draw(t, chance, n, in);
    for (int i = 0; i < n; i++) {
        out[i] = in[i] + carry > t->base ? 1 : in[i] + carry;
        carry = in[i] + carry > t->base;
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static void sort(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    for (int d = 1, at = 0; d <= t->base; d++) {
        for (int i = 0; i < n; i++) {
            if (in[i] == d) {
                out[at++] = d;
            }
        }
    }
}

/* Keys with a value behind each; equal keys stay in their order. */
static void sort_pairs(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, 2 * n, in);
    for (int d = 1, at = 0; d <= t->base; d++) {
        for (int i = 0; i < n; i++) {
            if (in[2 * i] == d) {
                out[at++] = d;
                out[at++] = in[2 * i + 1];
            }
        }
    }
}

static void copy(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    memcpy(out, in, (size_t)n * sizeof *in);
}

static void reverse(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    for (int i = 0; i < n; i++) {
        out[i] = in[n - 1 - i];
    }
}

static void reverse_pairs(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, 2 * n, in);
    for (int i = 0; i < n; i++) {
        out[2 * i] = in[2 * (n - 1 - i)];
        out[2 * i + 1] = in[2 * (n - 1 - i) + 1];
    }
}

static void duplicate(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    memcpy(out, in, (size_t)n * sizeof *in);
    memcpy(out + n, in, (size_t)n * sizeof *in);
}

/* ---- places ---------------------------------------------------------------------------------- */

static void left(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    out[0] = in[0];
}

static void right(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    out[0] = in[n - 1];
}

static void shift_left(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    for (int i = 0; i < n; i++) {
        out[i] = in[(i + 1) % n];
    }
}

static void shift_right(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, n, in);
    for (int i = 0; i < n; i++) {
        out[(i + 1) % n] = in[i];
    }
}

/* Keys with a value behind each, and a key that is among them: its first value. */
static void search(const task *t, const double *chance, int n, int *in, int *out)
{
    draw(t, chance, 2 * n, in);
    int asked = in[2 * (int)(chance[2 * n] * n)], i = 0;
    in[2 * n] = asked;
    while (in[2 * i] != asked) {
        i++;
    }
    out[0] = in[2 * i + 1];
}

static const task tasks[] = {
    {"add", "sum of decimal numbers", 10, 2, 1, add},
    {"badd", "of binary numbers", 2, 2, 1, add},
    {"qadd", "of numbers in base 4", 4, 2, 1, add},
    {"mul", "product of decimal numbers", 10, 2, 1, multiply},
    {"bmul", "of binary numbers", 2, 2, 1, multiply},
    {"sort", "digits in order", 10, 1, 0, sort},
    {"kvsort", "pairs in the order of their first digits", 10, 2, 0, sort_pairs},
    {"id", "the same", 10, 1, 0, copy},
    {"rev", "from behind", 10, 1, 0, reverse},
    {"rev2", "pairs from behind", 10, 2, 0, reverse_pairs},
    {"incr", "one more", 10, 1, 0, increment},
    {"left", "the first digit", 10, 1, 0, left},
    {"right", "the last digit", 10, 1, 0, right},
    {"left-shift", "one place to the left, round", 10, 1, 0, shift_left},
    {"right-shift", "one place to the right, round", 10, 1, 0, shift_right},
    {"dup", "twice", 10, 2, 0, duplicate},
    {"search", "the value of a key among pairs", 10, 2, 1, search},
};

const task *task_called(const char *name)
{
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        if (strcmp(tasks[i].name, name) == 0) {
            return &tasks[i];
        }
    }
    return NULL;
}

int task_length(const task *t, int digits)
{
    return t->per_digit * digits + t->besides;
}
