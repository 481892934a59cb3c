/* json.c - any bytes as JSON: a tree that writes and reads back as the same text, or a refusal in words. */
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

#include "tests/fuzz/fuzz.h"

static bool same(eg_tensor *a, eg_tensor *b)
{
    return a && b && eg_numel(a) == eg_numel(b) && !memcmp(eg_data(a), eg_data(b), (size_t)eg_numel(a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eg_clear_error();
    EG_SCOPE {
        eg_json *j = eg_json_parse(data, size);
        if (!j && eg_last_error()->code != EG_EFORMAT) {
            abort();
        }
        eg_tensor *text = eg_json_encode(j, .indent = 2), *again = NULL;
        eg_json *back = text ? eg_json_parse(eg_data(text), (size_t)eg_numel(text)) : NULL;
        again = eg_json_encode(back, .indent = 2);
        if (j && !same(text, again)) {
            abort();
        }
        for (int64_t i = 0; i < eg_json_count(j); i++) {
            size_t n = 0;
            const char *key = eg_json_kind_of(j) == EG_JSON_OBJECT ? eg_json_key(j, i, &n) : NULL;
            if (!eg_json_at(j, i) || (key && eg_json_find(j, key, n) != eg_json_at(j, i))) {
                abort();
            }
        }
        eg_json_free(back);
        eg_json_free(j);
    }
    return 0;
}
