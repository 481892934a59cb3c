/* file.c - the cases of a golden file. */
#include "tests/golden/golden.h"

static golden_case *find(golden_case *cases, int count, const char *name, size_t length)
{
    for (int i = 0; i < count; i++) {
        if (strlen(cases[i].name) == length && !strncmp(cases[i].name, name, length)) {
            return &cases[i];
        }
    }
    return NULL;
}

/* Puts a tensor where its role says: x3, y, y1, dy, dy0, g2, or anything else. */
static bool place(golden_case *c, const char *role, eg_tensor *t)
{
    static const char *const kinds[] = {"x", "g", "y", "dy"};
    eg_tensor **rows[] = {c->x, c->g, c->y, c->dy};
    for (int k = 0; k < 4; k++) {
        size_t length = strlen(kinds[k]);
        char *end;
        long i = strncmp(role, kinds[k], length) ? -1 : strtol(role + length, &end, 10);
        if (i < 0 || *end) {
            continue;
        }
        if (i >= (k < 2 ? GOLDEN_INPUTS : GOLDEN_OUTPUTS)) {
            return false;
        }
        rows[k][i] = t;
        c->nx = k == 0 && c->nx <= i ? (int)i + 1 : c->nx;
        c->ny = k == 2 && c->ny <= i ? (int)i + 1 : c->ny;
        return true;
    }
    c->extra = t;
    return true;
}

/* The texts of the file are its cases, their options the values. */
static bool fill(const eg_tensors *file, golden_case *cases, int count)
{
    for (int i = 0; i < count; i++) {
        const char *name = eg_tensors_text_key(file, i), *options = eg_tensors_text(file, name);
        golden_case *c = &cases[i];
        *c = (golden_case){0};
        snprintf(c->name, sizeof c->name, "%s", name);
        size_t length = strcspn(name, "/"), room = sizeof c->op - 1;
        length = length < room ? length : room;
        memcpy(c->op, name, length);
        c->op[length] = '\0';
        snprintf(c->options, sizeof c->options, "%s", options);
        if (strcmp(c->name, name) || strcmp(c->options, options)) {
            return false;
        }
    }
    for (int64_t i = 0; i < eg_tensors_count(file); i++) {
        const char *name = eg_tensors_name(file, i), *role = strrchr(name, '/');
        golden_case *c = role ? find(cases, count, name, (size_t)(role - name)) : NULL;
        if (!c || !place(c, role + 1, eg_tensors_at(file, i))) {
            return false;
        }
    }
    return true;
}

int golden_load(const char *family, eg_tensors **file, golden_case **cases)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/%s.safetensors", family);
    *file = eg_safetensors_load(path);
    int count = *file ? (int)eg_tensors_text_count(*file) : 0;
    *cases = count ? malloc((size_t)count * sizeof **cases) : NULL;
    if (!*cases || !fill(*file, *cases, count)) {
        free(*cases);
        eg_tensors_free(*file);
        egt_fail(__FILE__, __LINE__, "cannot read the cases of %s", path);
    }
    return count;
}
