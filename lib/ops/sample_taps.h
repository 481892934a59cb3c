/* sample_taps.h - the pixels of a row, or of a column, that make the value at a coordinate, for one
 * arithmetic type T, with LANE(x) defined. For the CPU and for devices; include <math.h> of C++ or
 * <tgmath.h> of C before. */

/* Of each: its place, its weight, and how that changes with the coordinate. A pixel outside has
 * neither. n: 1, 2 or 4 by mode; 0: the coordinate lies nowhere. */
typedef struct LANE(taps) {
    int n;
    int32_t at[4];
    T w[4], d[4];
} LANE(taps);

/* p mirrored into low..low + span; *slope turns with it. */
EG__HD T LANE(reflect)(T p, T low, T span, T *slope)
{
    if (!(span > 0)) {
        *slope = 0;
        return low;
    }
    T turned = p - low, t = fmod(fabs(turned), 2 * span);
    *slope = (turned < 0) != (t > span) ? -*slope : *slope;
    return low + (t > span ? 2 * span - t : t);
}

/* p brought into 0..last as the border wants it; what is held there does not move. */
EG__HD T LANE(hold)(const eg__sample_opts *o, T p, T last, T *slope)
{
    if (o->border == EG_SAMPLE_REFLECT) {
        T low = o->corners ? (T)0 : (T)-0.5;
        p = LANE(reflect)(p, low, last - 2 * low, slope);
    }
    if (o->border != EG_SAMPLE_ZEROS) {
        *slope = p > 0 && p < last ? *slope : 0;
        p = p < 0 ? 0 : p > last ? last : p;
    }
    return p;
}

EG__HD void LANE(tap)(LANE(taps) * t, int k, T at, T last, T w, T d)
{
    bool inside = at >= 0 && at <= last;
    t->at[k] = inside ? (int32_t)at : 0;
    t->w[k] = inside ? w : 0;
    t->d[k] = inside ? d : 0;
}

/* Keys' kernel at a distance of 0..1, and of 1..2, and their derivatives; a = -3/4. */
EG__HD T LANE(near)(T x)
{
    return ((T)1.25 * x - (T)2.25) * x * x + 1;
}

EG__HD T LANE(near_slope)(T x)
{
    return ((T)3.75 * x - (T)4.5) * x;
}

EG__HD T LANE(far)(T x)
{
    return (((T)-0.75 * x + (T)3.75) * x - 6) * x + 3;
}

EG__HD T LANE(far_slope)(T x)
{
    return ((T)-2.25 * x + (T)7.5) * x - 6;
}

/* Borders hold every pixel by itself here, not the coordinate. */
EG__HD void LANE(cubic_taps)(const eg__sample_opts *o, T p, T last, T slope, LANE(taps) * t)
{
    if (o->border != EG_SAMPLE_REFLECT) { /* further out nothing changes */
        p = p < -4 ? -4 : p > last + 4 ? last + 4 : p;
    }
    T f = floor(p), u = p - f, none = 0;
    if (!(u >= 0)) { /* infinity */
        return;
    }
    t->n = 4;
    LANE(tap)
    (t, 0, LANE(hold)(o, f - 1, last, &none), last, LANE(far)(u + 1), slope * LANE(far_slope)(u + 1));
    LANE(tap)
    (t, 1, LANE(hold)(o, f, last, &none), last, LANE(near)(u), slope * LANE(near_slope)(u));
    LANE(tap)
    (t, 2, LANE(hold)(o, f + 1, last, &none), last, LANE(near)(1 - u), -slope * LANE(near_slope)(1 - u));
    LANE(tap)
    (t, 3, LANE(hold)(o, f + 2, last, &none), last, LANE(far)(2 - u), -slope * LANE(far_slope)(2 - u));
}

/* Coordinate p of the points along an axis (0: x, 1: y) of `size` pixels. */
EG__HD void LANE(taps_at)(const eg__sample_opts *o, int axis, T p, int64_t size, LANE(taps) * t)
{
    T last = (T)(size - 1), slope = (T)o->scale[axis], reach = (T)o->reach;
    t->n = 0;
    p = (p + (T)o->add) * slope + (T)o->shift[axis];
    if (!(p >= -reach && p <= last + reach)) {
        return;
    }
    if (o->mode == EG_SAMPLE_BICUBIC) {
        LANE(cubic_taps)(o, p, last, slope, t);
        return;
    }
    p = LANE(hold)(o, p, last, &slope);
    T f = o->mode == EG_SAMPLE_BILINEAR ? floor(p) : o->away ? round(p) : rint(p);
    if (!(f >= -1 && f <= last + 1)) { /* infinity mirrored */
        return;
    }
    if (o->mode == EG_SAMPLE_NEAREST) {
        t->n = 1;
        LANE(tap)(t, 0, f, last, 1, 0);
        return;
    }
    t->n = 2;
    LANE(tap)(t, 0, f, last, 1 - (p - f), -slope);
    LANE(tap)(t, 1, f + 1, last, p - f, slope);
}
