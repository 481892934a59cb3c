/* names.c - under the names and in the layouts of others (names.txt.gz), the maps of names find all that a net has, and
 * nothing else. */
#include <egret/models.h>

#include "tests/golden/golden.h"

enum { NETS_MOST = 128 };

/* ---- the file ------------------------------------------------------------------------------------- */

/* Its text, for free(). */
static char *load(void)
{
    size_t size = 0, room = 1 << 22;
    char *text = malloc(room);
    eg_dataset *lines = eg_text_lines_new("tests/golden/names.txt.gz");
    EG_FOR_EACH(line, lines) {
        size_t n = (size_t)eg_numel(line[0]);
        EGT_CHECK(size + n + 2 < room);
        memcpy(text + size, eg_data(line[0]), n);
        size += n;
        text[size++] = '\n';
    }
    text[size] = '\0';
    eg_status st = eg_dataset_status(lines);
    eg_dataset_free(lines);
    if (st) {
        free(text);
        egt_need(NULL, "zlib");
    }
    EGT_OK(st);
    return text;
}

/* The list at *at, "= net whose" and its lines, as tensors that take no memory; NULL behind the last one. */
static eg_tensors *next_list(char **at, char *net, char *whose)
{
    if (!**at) {
        return NULL;
    }
    int length = 0;
    EGT_CHECK(sscanf(*at, "= %63s %63s\n%n", net, whose, &length) == 2 && length);
    eg_tensors *list = eg_tensors_new();
    char *p = *at + length;
    EG_SCOPE {
        while (*p && *p != '=') {
            char name[256];
            eg_shape shape = {0};
            EGT_CHECK(sscanf(p, "%255s%n", name, &length) == 1);
            for (p += length; *p == ' ';) {
                shape.dim[shape.ndim++] = strtoll(p, &p, 10);
            }
            EGT_CHECK(*p++ == '\n');
            EGT_OK(eg_tensors_set(list, name, eg_expand(eg_scalar(0, EG_F32), shape)));
        }
    }
    *at = p;
    return list;
}

eg_tensors *golden_names(const char *net, const char *whose)
{
    char *text = load(), *at = text, n[64], w[64];
    eg_tensors *list = next_list(&at, n, w);
    while (list && (strcmp(n, net) || strcmp(w, whose))) {
        eg_tensors_free(list);
        list = next_list(&at, n, w);
    }
    free(text);
    return list;
}

/* ---- maps ----------------------------------------------------------------------------------------- */

static bool of_one_shape(const eg_tensor *a, const eg_tensor *b)
{
    bool same = eg_ndim(a) == eg_ndim(b);
    for (int d = 0; same && d < eg_ndim(a); d++) {
        same = eg_size(a, d) == eg_size(b, d);
    }
    return same;
}

/* Keras' have 1000 classes, and no auxiliary head. */
static void check(const char *name, const char *whose, const eg_tensors *from)
{
    eg_model_info info = eg_model_find(name);
    EGT_CHECK(info.names);
    const bool keras = !strncmp(whose, "Keras", 5);
    eg_module *net = eg_model_new(name, .classes = keras ? 1000 : 0, .no_aux = keras && info.aux);
    eg_tensors *state = eg_module_state(net), *renamed = eg_tensors_renamed(from, info.names);
    eg_tensors *rest = eg_tensors_left_out(from, info.names);
    EGT_CHECK(renamed && rest);
    EGT_EQ(eg_tensors_count(rest), 0);
    for (int64_t i = 0; i < eg_tensors_count(state); i++) {
        const char *ours = eg_tensors_name(state, i);
        if (!eg_tensors_has(renamed, ours) || !of_one_shape(eg_tensors_get(renamed, ours), eg_tensors_at(state, i))) {
            printf("%s: %s is not there, or of another shape\n", egt_case, ours);
        }
        EGT_CHECK(eg_tensors_has(renamed, ours));
        EGT_CHECK(of_one_shape(eg_tensors_get(renamed, ours), eg_tensors_at(state, i)));
    }
    EGT_EQ(eg_tensors_count(renamed), eg_tensors_count(state));
    eg_tensors_free(rest);
    eg_tensors_free(renamed);
    eg_tensors_free(state);
    EGT_OK(eg_module_free(net));
}

EGT(names_of_others)
{
    char *text = load(), *at = text, net[64], whose[64];
    bool seen[NETS_MOST] = {false};
    eg_tensors *list;
    while ((list = next_list(&at, net, whose))) {
        snprintf(egt_case, sizeof egt_case, "names_of_others: %s, %s", net, whose);
        check(net, whose, list);
        eg_tensors_free(list);
        for (int i = 0; i < eg_model_count(); i++) {
            seen[i] |= !strcmp(eg_model_at(i).name, net);
        }
    }
    free(text);
    for (int i = 0; i < eg_model_count(); i++) {
        snprintf(egt_case, sizeof egt_case, "names_of_others: %s", eg_model_at(i).name);
        EGT_EQ(seen[i], eg_model_at(i).names != NULL);
    }
}
