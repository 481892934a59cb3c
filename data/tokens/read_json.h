/* read_json.h - how the parts of tokenizer.json are read: each has a type, and is read by the row of a table with its
 * name; what is in no table is refused by name. */
#ifndef EGRET_DATA_TOKENS_READ_JSON_H
#define EGRET_DATA_TOKENS_READ_JSON_H

#include "data/tokens/tokens.h"

typedef struct eg__reading {
    const char *op;
    eg_tokenizer *t;
    bool bytes; /* pieces go to the model as bytes */
} eg__reading;

typedef eg_status eg__reader(eg__reading *r, const eg_json *j);
typedef struct eg__kind {
    const char *name;
    eg__reader *read;
} eg__kind;

/* Tables of what there is, each of which ends with a NULL. */
extern const eg__kind eg__normals[], eg__splits[], eg__behinds[], eg__decoders[];
/* The model; files of old have no type. */
eg_status eg__read_model(eg__reading *r, const eg_json *j);
eg__step *eg__decoder_add(eg__reading *r, eg__decode *decode);

/* ---- fields ---------------------------------------------------------------------------------- */

bool eg__is_kind(const eg_json *j, eg_json_kind wanted);
/* A text; NULL, with words, if there is none and it must be. */
const char *eg__text_in(eg__reading *r, const eg_json *j, const char *key, int64_t *n, bool must);
/* A text as it is, or what there is without it. */
eg_status eg__string_in(eg__reading *r, const eg_json *j, const char *key, const char *otherwise, eg__string *to);
bool eg__flag_in(const eg_json *j, const char *key, bool otherwise);
eg_status eg__integer_in(eg__reading *r, const eg_json *j, const char *key, int64_t otherwise, int64_t *to);
/* {"String": ...} or {"Regex": ...}. */
eg__pattern *eg__pattern_in(eg__reading *r, const eg_json *j, const char *key);
eg_status eg__behaviour_in(eg__reading *r, const eg_json *j, eg__behaviour *to);
/* Where a mark is put before: "always", "first", "never"; older files say it by a flag. */
eg_status eg__scheme_in(eg__reading *r, const eg_json *j, bool *always, bool *first);
/* Reads a part by its type, and all of a list. */
eg_status eg__read_kind(eg__reading *r, const eg_json *j, const eg__kind *kinds, const char *what);
eg_status eg__read_all(eg__reading *r, const eg_json *j, const char *key, const eg__kind *kinds, const char *what);

#endif
