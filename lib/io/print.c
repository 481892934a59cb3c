/* print.c - tensors as text, in the form NumPy made familiar. Two passes over the elements shown:
 * the first finds the common form of the numbers, the second writes them. */
#include <math.h>
#include <stdlib.h>

#include "lib/core/device.h"

enum { NUMBER = 96, MOST_DIGITS = 40 };

typedef struct printer {
    const eg_tensor *t;
    eg_print_options o;
    bool real, short_form; /* short_form: "..." in the middle of long axes */
    /* what the first pass finds */
    bool finite, special, negative_infinity;
    double largest, smallest; /* of the finite numbers that are not 0, absolute */
    bool scientific;
    int whole, fraction, exponent; /* characters left and right of the point, digits of the exponent */
    /* what the second writes */
    char *to;
    size_t room;
    int64_t n;
    int column, owed; /* owed: blanks that fill a column, unless its line ends */
} printer;

/* ---- writing --------------------------------------------------------------------------------- */

static void put_many(printer *p, char c, int64_t n);

static void put(printer *p, const char *s, size_t n)
{
    int owed = n && *s != '\n' ? p->owed : 0;
    p->owed = n ? 0 : p->owed;
    p->column -= owed;
    put_many(p, ' ', owed);
    if ((size_t)p->n < p->room) {
        size_t left = p->room - (size_t)p->n;
        memcpy(p->to + p->n, s, n < left ? n : left);
    }
    p->n += (int64_t)n;
    p->column += (int)n;
}

static void put_many(printer *p, char c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        put(p, &c, 1);
    }
}

static void new_line(printer *p, int64_t lines, int indent)
{
    put_many(p, '\n', lines);
    p->column = 0;
    put_many(p, ' ', indent);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* printf follows the locale; the decimal point here is a point. */
static void plain_point(char *s)
{
    char *to = s;
    for (bool last = false; *s; s++) {
        bool known = (*s >= '0' && *s <= '9') || *s == '-' || *s == '+' || *s == 'e';
        if (known) {
            *to++ = *s;
        } else if (!last) {
            *to++ = '.';
        }
        last = !known;
    }
    *to = 0;
}

/* Digits after the point that tell v from its neighbours in the tensor's dtype, at most
 * precision. */
static int digits_of(const printer *p, double v)
{
    char s[NUMBER];
    int digits = 0;
    for (; digits < p->o.precision; digits++) {
        double back;
        snprintf(s, sizeof s, p->scientific ? "%.*e" : "%.*f", digits, v);
        eg__store(&back, p->t->dtype, 0, strtod(s, NULL));
        if (eg__load(&back, p->t->dtype, 0) == v) {
            return digits;
        }
    }
    snprintf(s, sizeof s, p->scientific ? "%.*e" : "%.*f", digits, v);
    plain_point(s);
    char *end = s + strcspn(s, "e");
    while (digits > 0 && *--end == '0') {
        digits--;
    }
    return digits;
}

/* v with so many digits after the point, which is always there; the exponent has p->exponent
 * digits. */
static int format_real(const printer *p, double v, int digits, char *s)
{
    char exponent[16] = "";
    snprintf(s, NUMBER, p->scientific ? "%.*e" : "%.*f", digits, v);
    plain_point(s);
    char *e = strchr(s, 'e');
    if (e) {
        snprintf(exponent, sizeof exponent, "e%c%0*d", e[1], p->exponent, atoi(e + 2));
        *e = 0;
    }
    strcat(s, digits ? "" : ".");
    strcat(s, exponent);
    return (int)strlen(s);
}

static void format(const printer *p, int64_t at, char *s)
{
    const void *data = eg__ptr(p->t);
    if (p->t->dtype == EG_BOOL) {
        strcpy(s, eg__load_int(data, EG_BOOL, at) ? "True" : "False");
    } else if (!p->real) {
        snprintf(s, NUMBER, "%lld", (long long)eg__load_int(data, p->t->dtype, at));
    } else {
        double v = eg__load(data, p->t->dtype, at);
        if (isfinite(v)) {
            format_real(p, v, p->scientific ? p->fraction : digits_of(p, v), s);
        } else {
            strcpy(s, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        }
    }
}

/* ---- the first pass -------------------------------------------------------------------------- */

static void note_range(printer *p, int64_t at)
{
    double v = eg__load(eg__ptr(p->t), p->t->dtype, at), a = fabs(v);
    if (!isfinite(v)) {
        p->special = true;
        p->negative_infinity |= v < 0;
    } else if (a > 0) {
        p->largest = fmax(p->largest, a);
        p->smallest = p->finite ? fmin(p->smallest, a) : a;
        p->finite = true;
    }
}

static void note_width(printer *p, int64_t at)
{
    char s[NUMBER];
    if (!p->real) {
        format(p, at, s);
        p->whole = (int)eg__max(p->whole, (int64_t)strlen(s));
        return;
    }
    double v = eg__load(eg__ptr(p->t), p->t->dtype, at);
    if (isfinite(v)) {
        int digits = digits_of(p, v);
        format_real(p, v, digits, s);
        p->whole = (int)eg__max(p->whole, (int64_t)strcspn(s, "."));
        p->fraction = (int)eg__max(p->fraction, digits);
        const char *e = strchr(s, 'e');
        p->exponent = (int)eg__max(p->exponent, e ? (int64_t)strlen(e) - 2 : 0);
    }
}

/* Index after i along an axis: the middle of long axes is left out. */
static int64_t after(const printer *p, int64_t i, int64_t size)
{
    bool gap = p->short_form && size > 2 * (int64_t)p->o.edge_items && i == p->o.edge_items - 1;
    return gap ? size - p->o.edge_items : i + 1;
}

static void each(printer *p, int axis, int64_t at, void (*note)(printer *, int64_t))
{
    if (axis == p->t->ndim) {
        note(p, at);
        return;
    }
    for (int64_t i = 0, n = p->t->shape[axis]; i < n; i = after(p, i, n)) {
        each(p, axis + 1, at + i * p->t->strides[axis], note);
    }
}

static void choose_form(printer *p)
{
    if (p->real) {
        each(p, 0, 0, note_range);
        p->scientific = p->finite && (p->largest >= 1e8 || p->smallest < 1e-4 || p->largest / p->smallest > 1000);
        p->exponent = 2;
    }
    each(p, 0, 0, note_width);
    if (p->special) {
        int right = 1 + p->fraction + (p->scientific ? 2 + p->exponent : 0);
        p->whole = (int)eg__max(p->whole, (p->negative_infinity ? 4 : 3) - right);
    }
}

/* ---- the second pass ------------------------------------------------------------------------- */

/* The element at `at`, in its column. */
static void put_element(printer *p, int64_t at)
{
    char s[NUMBER];
    format(p, at, s);
    int n = (int)strlen(s), left = p->whole, width = p->whole;
    if (p->real) {
        width += 1 + p->fraction + (p->scientific ? 2 + p->exponent : 0);
        left = strchr(s, '.') ? p->whole - (int)strcspn(s, ".") : width - n;
    } else {
        left -= n;
    }
    put_many(p, ' ', left);
    put(p, s, (size_t)n);
    p->owed = width - left - n;
    p->column += p->owed;
}

static int element_width(const printer *p)
{
    return p->whole + (p->real ? 1 + p->fraction + (p->scientific ? 2 + p->exponent : 0) : 0);
}

/* Elements along the last axis; lines break where the next would pass their end. */
static void put_row(printer *p, int64_t at)
{
    int ndim = p->t->ndim, end = p->o.line_width - ndim, width = element_width(p);
    int64_t n = p->t->shape[ndim - 1], next;
    for (int64_t i = 0; i < n; i = next) {
        next = after(p, i, n);
        if (i && p->column + 1 + width > end) {
            new_line(p, 1, ndim);
        } else if (i) {
            put(p, " ", 1);
        }
        put_element(p, at + i * p->t->strides[ndim - 1]);
        if (next != i + 1) {
            if (p->column + 1 + 3 > end) {
                new_line(p, 1, ndim);
                put(p, "...", 3);
            } else {
                put(p, " ...", 4);
            }
        }
    }
}

static void put_axis(printer *p, int axis, int64_t at)
{
    int ndim = p->t->ndim;
    int64_t n = p->t->shape[axis], next;
    put(p, "[", 1);
    if (axis == ndim - 1) {
        put_row(p, at);
    }
    for (int64_t i = 0; axis < ndim - 1 && i < n; i = next) {
        next = after(p, i, n);
        put_axis(p, axis + 1, at + i * p->t->strides[axis]);
        if (next != i + 1) {
            new_line(p, ndim - 1 - axis, axis + 1);
            put(p, "...", 3);
        }
        if (next < n) {
            new_line(p, ndim - 1 - axis, axis + 1);
        }
    }
    put(p, "]", 1);
}

static void put_tensor(printer *p)
{
    const eg_tensor *t = p->t;
    if (!t->n) {
        put(p, "[]", 2);
    } else {
        choose_form(p);
        if (t->ndim) {
            put_axis(p, 0, 0);
        } else {
            char s[NUMBER];
            format(p, 0, s);
            put(p, s, strlen(s));
        }
    }
    if (t->dtype != EG_F32 || !t->n || p->short_form) {
        const char *name = eg_dtype_name((eg_dtype)t->dtype);
        put(p, " ", 1);
        put(p, name, strlen(name));
        put(p, " ", 1);
        put(p, EG__SHAPE_OF(t), strlen(EG__SHAPE_OF(t)));
    }
}

/* ---- public ---------------------------------------------------------------------------------- */

static eg_status options_of(eg_print_options *o, const eg_print_options *given)
{
    eg__options(o, sizeof *o, given);
    o->precision = (int)eg__or_count(o->precision, 4);
    o->threshold = (int)eg__or_count(o->threshold, 1000);
    o->edge_items = (int)eg__or_count(o->edge_items, 3);
    o->line_width = (int)eg__or_count(o->line_width, 80);
    if (o->precision < 0 || o->precision > MOST_DIGITS || o->threshold < 0 || o->edge_items < 1 || o->line_width < 0) {
        return eg__fail(EG_EINVAL, "eg_format",
                        "precision %d (at most %d), threshold %d, edge_items %d (at least 1), "
                        "line_width %d: none may be negative",
                        o->precision, MOST_DIGITS, o->threshold, o->edge_items, o->line_width);
    }
    return EG_OK;
}

int64_t eg_format_with(const eg_tensor *t, char *buffer, size_t size, const eg_print_options *options)
{
    printer p = {.t = t, .to = buffer, .room = size};
    if (!buffer && size) {
        return eg__null_argument("eg_format", "buffer"), -1;
    }
    if (eg__check(t, "eg_format", "t") || options_of(&p.o, options)) {
        return -1;
    }
    if (t->device) {
        eg_scope s = eg_scope_push();
        const eg_tensor *here = eg__on_host(t, "eg_format");
        int64_t n = here ? eg_format_with(here, buffer, size, options) : -1;
        eg_scope_pop(s, NULL);
        return n;
    }
    p.real = eg__is_float(t->dtype);
    p.short_form = t->n > p.o.threshold;
    put_tensor(&p);
    if (size) {
        buffer[(size_t)p.n < size ? (size_t)p.n : size - 1] = 0;
    }
    return p.n;
}

eg_status eg_print_to(FILE *stream, const eg_tensor *t)
{
    if (!stream) {
        return eg__null_argument("eg_print_to", "stream");
    }
    int64_t n = eg_format_with(t, NULL, 0, NULL);
    if (n < 0) {
        return eg__why();
    }
    char *text = eg__malloc((size_t)n + 2);
    if (!text) {
        return eg__no_memory("eg_print_to", n + 2);
    }
    eg_format_with(t, text, (size_t)n + 1, NULL);
    text[n] = '\n';
    bool written = fwrite(text, 1, (size_t)n + 1, stream) == (size_t)n + 1;
    free(text);
    return written ? EG_OK : eg__fail(EG_EIO, "eg_print_to", "the stream does not take %lld bytes", (long long)n + 1);
}
