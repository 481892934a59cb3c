/* json.h - JSON (RFC 8259) as trees of values: read, made, written.
 *
 * A tree has one owner, the value that eg_json_parse, eg_json_load, eg_json_object or eg_json_array gave; all others
 * in it, their keys and texts live until that is freed. What only reads may be done by several threads at once.
 *
 * Texts and keys are UTF-8 and may hold 0 bytes; behind their last byte stands a 0 more. Values stand in each other 64
 * levels deep at most. An object keeps its keys in the order they first came; of a key that comes again the last value
 * holds, in the first one's place. Numbers are f64, and exact as i64 where they were written without a point or an
 * exponent and fit. */
#ifndef EGRET_JSON_H
#define EGRET_JSON_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_json eg_json;

typedef enum eg_json_kind {
    EG_JSON_NULL,
    EG_JSON_BOOL,
    EG_JSON_NUMBER,
    EG_JSON_TEXT,
    EG_JSON_ARRAY,
    EG_JSON_OBJECT
} eg_json_kind;

/* ---- reading -------------------------------------------------------------------------------- */

/* The value that these bytes are, which may be changed afterwards. EG_EFORMAT with the place in bytes: no JSON, more
 * behind it, nested too deep, a number beyond f64, more than 2^30 bytes. */
EG_API eg_json *eg_json_parse(const void *data, size_t bytes);
/* That of a file. */
EG_API eg_json *eg_json_load(const char *path);
/* Frees a tree by its owner; NULL is fine. */
EG_API void eg_json_free(eg_json *j);

/* What j is; of NULL EG_JSON_NULL. */
EG_API eg_json_kind eg_json_kind_of(const eg_json *j);
/* How many values an array or an object has; of others 0. */
EG_API int64_t eg_json_count(const eg_json *j);
/* The i-th of them, from 0. EG_EINDEX: there is none. */
EG_API eg_json *eg_json_at(const eg_json *j, int64_t i);
/* The i-th key of an object, its length in *bytes unless that is NULL. EG_EINDEX: there is none, EG_EINVAL: no object.
 */
EG_API const char *eg_json_key(const eg_json *j, int64_t i, size_t *bytes);
/* The value under a key, found by hashing. NULL if there is none, or j is no object, and nothing on record. */
EG_API eg_json *eg_json_get(const eg_json *j, const char *key);
/* The same of a key of so many bytes. */
EG_API eg_json *eg_json_find(const eg_json *j, const char *key, size_t bytes);

/* A text, its length in *bytes unless that is NULL. EG_EINVAL: j is another kind. */
EG_API const char *eg_json_text(const eg_json *j, size_t *bytes);
/* A number; NaN, with EG_EINVAL on record, if j is none. */
EG_API double eg_json_number(const eg_json *j);
/* Whether j is a number that was written as an integer and fits i64. */
EG_API bool eg_json_is_integer(const eg_json *j);
/* A number without a fraction. EG_EINVAL: j is no number; has a fraction; is beyond i64; or is not exact, being written
 * with a point or an exponent and 2^53 or more. */
EG_API eg_status eg_json_integer(const eg_json *j, int64_t *value);
/* EG_EINVAL on record, and false, if j is neither true nor false. */
EG_API bool eg_json_bool(const eg_json *j);

/* ---- making --------------------------------------------------------------------------------- */

/* An empty object or array, of nobody. */
EG_API eg_json *eg_json_object(void);
EG_API eg_json *eg_json_array(void);

/* A value under a key of an object, in place of what is there; with NULL as the key, behind the last one of an array.
 * It belongs to `in`. EG_EINVAL: `in` is no object, or no array; no UTF-8; a number that is not finite; too deep. */
EG_API eg_json *eg_json_add_object(eg_json *in, const char *key);
EG_API eg_json *eg_json_add_array(eg_json *in, const char *key);
EG_API eg_status eg_json_add_text(eg_json *in, const char *key, const char *text, size_t bytes);
EG_API eg_status eg_json_add_number(eg_json *in, const char *key, double value);
EG_API eg_status eg_json_add_integer(eg_json *in, const char *key, int64_t value);
EG_API eg_status eg_json_add_bool(eg_json *in, const char *key, bool value);
EG_API eg_status eg_json_add_null(eg_json *in, const char *key);

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct eg_json_options {
    size_t size;
    int indent; /* a line for each value, so many blanks for each level; 0: all in one line, without blanks */
} eg_json_options;

/* The value as JSON, u8 [n], which reads back as the same. Characters stand for themselves but for quotes, backslashes
 * and controls. EG_EINVAL: an indent below 0 or over 16; EG_ENOMEM: also over 2^30 bytes. */
EG_API eg_tensor *eg_json_encode_with(const eg_json *j, const eg_json_options *options);
#define eg_json_encode(...)     EG_JSON_ENCODE_(__VA_ARGS__, )
#define EG_JSON_ENCODE_(j, ...) eg_json_encode_with(j, EG_OPTIONS_(eg_json_options, __VA_ARGS__))
/* The same in a file, as io.h says of writers, with a line's end behind it. */
EG_API eg_status eg_json_save_with(const eg_json *j, const char *path, const eg_json_options *options);
#define eg_json_save(...)           EG_JSON_SAVE_(__VA_ARGS__, )
#define EG_JSON_SAVE_(j, path, ...) eg_json_save_with(j, path, EG_OPTIONS_(eg_json_options, __VA_ARGS__))

EG_END_DECLS

#endif
