/* extremes.h - the larger and the smaller of two floats, where a NaN on either side wins. The order of the
 * tests, and only the new element b being tested for NaN, is what lets compilers use max and min
 * instructions in a chain. */
#ifndef EGRET_EXTREMES_H
#define EGRET_EXTREMES_H

#define EG__EXTREME(name, T, op)   \
    static inline T name(T a, T b) \
    {                              \
        T m = b op a ? b : a;      \
        return b != b ? b : m;     \
    }
EG__EXTREME(eg__f32_higher, float, >)
EG__EXTREME(eg__f64_higher, double, >)
EG__EXTREME(eg__f32_lower, float, <)
EG__EXTREME(eg__f64_lower, double, <)

#endif
