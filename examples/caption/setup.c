/* setup.c - see setup.h. */
#include "setup.h"

#include <stdio.h>
#include <string.h>

eg_status setup_save(eg_run *run, const look_options *given, int64_t embedding, int64_t units, bool remembers)
{
    eg_json *all = eg_json_object();
    const struct {
        const char *key, *text;
    } texts[] = {{"trunk", given->trunk.net}, {"tap", given->tap}, {"weights", given->trunk.weights}};
    const struct {
        const char *key;
        int64_t number;
    } numbers[] = {{"side", given->side}, {"embedding", embedding}, {"units", units}};
    eg_status st = all ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < 3 && !st; i++) {
        st = texts[i].text ? eg_json_add_text(all, texts[i].key, texts[i].text, strlen(texts[i].text)) : EG_OK;
        st = st ? st : eg_json_add_integer(all, numbers[i].key, numbers[i].number);
    }
    st = st ? st : eg_json_add_bool(all, "scenes", given->scenes);
    st = st ? st : eg_json_add_bool(all, "remembers", remembers);
    st = st ? st : eg_json_save(all, eg_run_path(run, "setup.json").text, .indent = 4);
    eg_json_free(all);
    return st;
}

/* NULL where there is none. */
static const char *text_of(const eg_json *all, const char *key, char *to, size_t size)
{
    const eg_json *value = eg_json_get(all, key);
    const char *text = value ? eg_json_text(value, NULL) : NULL;
    snprintf(to, size, "%s", text ? text : "");
    return text ? to : NULL;
}

eg_status setup_load(setup *s, eg_run *run, const look_options *given)
{
    eg_path path = eg_run_path(run, "setup.json");
    eg_json *all = eg_json_load(path.text);
    if (!all) {
        return eg_last_error()->code;
    }
    int64_t side = 0;
    const char *net = text_of(all, "trunk", s->net, sizeof s->net);
    const char *tap = text_of(all, "tap", s->tap, sizeof s->tap);
    const char *weights = text_of(all, "weights", s->weights, sizeof s->weights);
    eg_clear_error();
    bool whole = net && !eg_json_integer(eg_json_get(all, "side"), &side) &&
                 !eg_json_integer(eg_json_get(all, "embedding"), &s->embedding) &&
                 !eg_json_integer(eg_json_get(all, "units"), &s->units);
    s->look = *given;
    s->remembers = eg_json_bool(eg_json_get(all, "remembers"));
    s->look.scenes = eg_json_bool(eg_json_get(all, "scenes"));
    eg_json_free(all);
    s->look.trunk.net = net;
    s->look.tap = given->tap ? given->tap : tap;
    s->look.trunk.weights = given->trunk.weights ? given->trunk.weights : weights;
    s->look.side = given->side ? given->side : side;
    return whole ? EG_OK : eg_failf(EG_EFORMAT, "caption", "%.200s does not tell what it should", path.text);
}
