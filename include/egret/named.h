/* named.h - how functions take named options: eg_conv2d(x, weight, NULL, .stride = 2).
 *
 * Such a function is a macro over one that ends in _with and takes a struct, whose zero is the default. Options
 * are given by name; one without a name does not compile. In C++ they are given in the order in which the
 * struct declares them; before C++20 that is an extension, which gcc and clang have. */
#ifndef EGRET_NAMED_H
#define EGRET_NAMED_H

#include <stddef.h>

/* 0 for an option whose 0 stands for another default ("0: 0.1"): eg_batch_norm_new(64, .momentum = EG_ZERO). */
#define EG_ZERO (-0x7fffffff - 1)

/* A pointer to such a struct, an array of items, and their number. */
#define EG_NAMED_WORDS_ "options are given by name: .stride = 2"
#ifndef __GNUC__
#define EG_NAMED_(text) 1
#else
#define EG_NAMED_(text) (sizeof(text) == 1 || __builtin_strncmp(text, ".", 1) == 0)
#endif
#ifndef __cplusplus
#define EG_NAMES_(text)                                   \
    sizeof(struct {                                       \
        _Static_assert(EG_NAMED_(text), EG_NAMED_WORDS_); \
        int named;                                        \
    })
#define EG_OPTIONS_(type, ...) ((void)EG_NAMES_(#__VA_ARGS__), &(type){.size = sizeof(type), __VA_ARGS__})
#define EG_ARRAY_(type, ...)   ((type[]){__VA_ARGS__})
#define EG_COUNT_(type, ...)   ((int)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)))
#else
#ifndef __clang__
#pragma GCC system_header /* g++ warns of options that are left out */
#endif
extern "C++" {
template <bool named, class T> inline const T *eg_options_(const T &options)
{
    static_assert(named, EG_NAMED_WORDS_);
    return &options;
}
template <class T, size_t n> inline const T *eg_array_(const T (&items)[n])
{
    return items;
}
template <class T, size_t n> char (&eg_counted_(const T (&items)[n]))[n];
}
/* Later versions of clang do too. */
#define EG_LEFT_OUT_(...) __VA_ARGS__
#ifdef __clang__
#if __has_warning("-Wmissing-designated-field-initializers")
#undef EG_LEFT_OUT_
#define EG_LEFT_OUT_(...)                                                                                            \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wmissing-designated-field-initializers\"") \
        __VA_ARGS__ _Pragma("clang diagnostic pop")
#endif
#endif
#define EG_OPTIONS_(type, ...) \
    EG_LEFT_OUT_((__extension__ eg_options_<EG_NAMED_(#__VA_ARGS__)>(type{.size = sizeof(type), __VA_ARGS__})))
#define EG_ARRAY_(type, ...) eg_array_<type>({__VA_ARGS__})
#define EG_COUNT_(type, ...) static_cast<int>(sizeof(eg_counted_<type>({__VA_ARGS__})))
#endif

#endif
