/* base.h - what every other header needs: exports, version, status codes. */
#ifndef EGRET_BASE_H
#define EGRET_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <egret/named.h>

#if defined(_WIN32)
#define EG_API
#elif defined(__GNUC__)
#define EG_API __attribute__((visibility("default")))
#else
#define EG_API
#endif

/* Behind a function that takes words as printf does: where they are and the first value among its arguments, counted
 * from 1, so that the compiler looks at them. */
#if defined(__GNUC__)
#define EG_PRINTF(words, values) __attribute__((__format__(__printf__, words, values)))
#else
#define EG_PRINTF(words, values)
#endif

#ifdef __cplusplus
#define EG_BEGIN_DECLS extern "C" {
#define EG_END_DECLS   }
#else
#define EG_BEGIN_DECLS
#define EG_END_DECLS
#endif

#define EG_VERSION_MAJOR 0
#define EG_VERSION_MINOR 1
#define EG_VERSION_PATCH 0

EG_BEGIN_DECLS

/* Every way a call can fail, once: code, value, words. EG_OK is 0, failures are negative. */
#define EG_STATUS_LIST(X)                   \
    X(EG_EINVAL, -1, "invalid argument")    \
    X(EG_ESHAPE, -2, "shape")               \
    X(EG_EDTYPE, -3, "dtype")               \
    X(EG_EDEVICE, -4, "device mismatch")    \
    X(EG_ENOMEM, -5, "out of memory")       \
    X(EG_ENOKERNEL, -6, "no kernel")        \
    X(EG_ENODEVICE, -7, "no device")        \
    X(EG_EIO, -8, "input/output")           \
    X(EG_EFORMAT, -9, "malformed file")     \
    X(EG_EINDEX, -10, "index out of range") \
    X(EG_ESTATE, -11, "wrong state")        \
    X(EG_EUSER, -12, "user code")           \
    X(EG_EFAULT, -13, "device fault")

typedef enum eg_status {
    EG_OK = 0,
#define EG_STATUS_ENUM(name, value, words) name = value,
    EG_STATUS_LIST(EG_STATUS_ENUM)
#undef EG_STATUS_ENUM
} eg_status;

/* The version this library was built as, "major.minor.patch". Never NULL. */
EG_API const char *eg_version(void);

EG_END_DECLS

#endif
