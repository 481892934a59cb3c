/* json_make.c - JSON put together. */
#include <math.h>

#include "lib/io/file.h"
#include "lib/io/json.h"
#include "lib/io/json_tree.h"

static eg_json *begin(const char *op, bool object)
{
    eg_json *j = eg__json_new(op);
    if (j && !eg__json_open(j, object)) {
        eg__no_memory(op, (int64_t)sizeof *j->as.list);
        eg_json_free(j);
        return NULL;
    }
    return j;
}

eg_json *eg_json_object(void)
{
    return begin("eg_json_object", true);
}

eg_json *eg_json_array(void)
{
    return begin("eg_json_array", false);
}

static char *copied(eg_json *in, const char *s, size_t bytes)
{
    char *text = eg__json_room(in->tree, bytes + 1);
    if (text) {
        memcpy(text, s, bytes);
        text[bytes] = 0;
    }
    return text;
}

static eg_status check(const char *op, const eg_json *in, const char *key)
{
    if (!in) {
        return eg__null_argument(op, "in");
    }
    if (in->kind != (key ? EG_JSON_OBJECT : EG_JSON_ARRAY)) {
        return eg__fail(EG_EINVAL, op, key ? "a key, \"%.60s\", and no object" : "no key, and no array", key);
    }
    return !key || eg__utf8(key, (int64_t)strlen(key)) ? EG_OK
                                                       : eg__fail(EG_EINVAL, op, "key \"%.60s\" is no UTF-8", key);
}

/* A new value, null; NULL with words. */
static eg_json *add(const char *op, eg_json *in, const char *key)
{
    if (check(op, in, key)) {
        return NULL;
    }
    size_t bytes = key ? strlen(key) : 0;
    bool fresh = key && eg__json_place(in->as.list, key, bytes) < 0;
    const char *kept = fresh ? copied(in, key, bytes) : key;
    eg_json *j = key && !kept ? NULL : eg__json_add(in, kept, bytes);
    if (!j) {
        eg__no_memory(op, (int64_t)sizeof *j);
    }
    return j;
}

static eg_json *add_list(const char *op, eg_json *in, const char *key, bool object)
{
    if (check(op, in, key)) {
        return NULL;
    }
    if (in->depth + 1 == EG__JSON_DEPTH) {
        return eg__fail_null(EG_EINVAL, op, "nesting deeper than %d levels", EG__JSON_DEPTH);
    }
    eg_json made = {.tree = in->tree};
    eg_json *j = eg__json_open(&made, object) ? add(op, in, key) : (eg__no_memory(op, (int64_t)sizeof made), NULL);
    if (j) {
        j->kind = made.kind;
        j->as = made.as;
    }
    return j;
}

eg_json *eg_json_add_object(eg_json *in, const char *key)
{
    return add_list("eg_json_add_object", in, key, true);
}

eg_json *eg_json_add_array(eg_json *in, const char *key)
{
    return add_list("eg_json_add_array", in, key, false);
}

eg_status eg_json_add_text(eg_json *in, const char *key, const char *text, size_t bytes)
{
    static const char op[] = "eg_json_add_text";
    eg_status st = text ? check(op, in, key) : eg__null_argument(op, "text");
    if (!st && (bytes > 1u << 30 || !eg__utf8(text, (int64_t)bytes))) {
        st = eg__fail(EG_EINVAL, op, "text \"%.60s\" of %zu bytes is %s", text, bytes,
                      bytes > 1u << 30 ? "too long" : "no UTF-8");
    }
    const char *kept = st ? NULL : copied(in, text, bytes);
    st = st || kept ? st : eg__no_memory(op, (int64_t)bytes);
    eg_json *j = st ? NULL : add(op, in, key);
    if (j) {
        j->kind = EG_JSON_TEXT;
        j->bytes = (uint32_t)bytes;
        j->as.text = kept;
    }
    return st ? st : j ? EG_OK : eg__why();
}

eg_status eg_json_add_number(eg_json *in, const char *key, double value)
{
    static const char op[] = "eg_json_add_number";
    if (!isfinite(value)) {
        return eg__fail(EG_EINVAL, op, "value is %g", value);
    }
    eg_json *j = add(op, in, key);
    if (j) {
        j->kind = EG_JSON_NUMBER;
        j->as.real = value;
    }
    return j ? EG_OK : eg__why();
}

eg_status eg_json_add_integer(eg_json *in, const char *key, int64_t value)
{
    eg_json *j = add("eg_json_add_integer", in, key);
    if (j) {
        j->kind = EG_JSON_NUMBER;
        j->whole = true;
        j->as.whole = value;
    }
    return j ? EG_OK : eg__why();
}

eg_status eg_json_add_bool(eg_json *in, const char *key, bool value)
{
    eg_json *j = add("eg_json_add_bool", in, key);
    if (j) {
        j->kind = EG_JSON_BOOL;
        j->as.truth = value;
    }
    return j ? EG_OK : eg__why();
}

eg_status eg_json_add_null(eg_json *in, const char *key)
{
    return add("eg_json_add_null", in, key) ? EG_OK : eg__why();
}
