/* start.c - see start.h. */
#include "start.h"

#include <stdlib.h>
#include <string.h>

#include <egret/models.h>

/* ---- weights ---- */

/* Those of the file whose names begin so, without that. */
static eg_tensors *below(const eg_tensors *file, const char *prefix)
{
    eg_tensors *t = eg_tensors_new();
    eg_status st = t ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < eg_tensors_count(file) && !st; i++) {
        const char *name = eg_tensors_name(file, i);
        if (!strncmp(name, prefix, strlen(prefix))) {
            st = eg_tensors_set(t, name + strlen(prefix), eg_tensors_at(file, i));
        }
    }
    if (st) {
        eg_tensors_free(t);
        return NULL;
    }
    return t;
}

/* Loads what fits, and says how much that was. */
static eg_status load(eg_run *run, eg_module *into, const eg_tensors *from, const char *what)
{
    eg_load_report *report = NULL;
    eg_status st = eg_module_load_state(into, from, .allow_missing = true, .allow_unexpected = true, .skip_shape = true,
                                        .report = &report);
    int64_t loaded = eg_load_report_of(report, EG_LOAD_LOADED) + eg_load_report_of(report, EG_LOAD_CONVERTED);
    if (!st) {
        eg_run_say(
            run, "begins with %lld tensors of %s; %lld begin anew", (long long)loaded, what,
            (long long)(eg_load_report_of(report, EG_LOAD_MISSING) + eg_load_report_of(report, EG_LOAD_OTHER_SHAPE)));
    }
    st = st || loaded ? st : eg_failf(EG_EFORMAT, "detect", "nothing in %s fits the net", what);
    eg_load_report_free(report);
    return st;
}

/* Of a file in which names are as this library has them; in a checkpoint the net is called "net". */
static eg_status load_own(eg_run *run, eg_module *net, const eg_tensors *file, const char *prefix)
{
    eg_tensors *own = below(file, prefix);
    if (!own) {
        return eg_last_error()->code;
    }
    eg_status st = eg_tensors_has(own, "conv1.conv.weight")
                       ? load(run, eg_module_find(net, "features.trunk"), own, "a classifier")
                       : load(run, net, own, "a detector");
    eg_tensors_free(own);
    return st;
}

static eg_status load_renamed(eg_run *run, eg_module *into, const eg_tensors *file, const char *names, const char *what)
{
    eg_tensors *renamed = eg_tensors_renamed(file, names);
    eg_status st = renamed ? load(run, into, renamed, what) : eg_last_error()->code;
    eg_tensors_free(renamed);
    return st;
}

eg_status start_from(eg_run *run, eg_module *net, const char *path)
{
    eg_tensors *file = net ? eg_tensors_open(path) : NULL;
    if (!file) {
        return eg_last_error()->code;
    }
    eg_status st =
        eg_tensors_has(file, "backbone.body.conv1.weight")
            ? load_renamed(run, net, file, eg_detector_names(net), "torchvision's detector")
        : eg_tensors_has(file, "layer1.0.conv1.weight")
            ? load_renamed(run, eg_module_find(net, "features.trunk"), file, eg_model_find("resnet50").names,
                           "torchvision's classifier")
        : eg_tensors_has(file, "net/conv1.conv.weight") || eg_tensors_has(file, "net/features.trunk.conv1.conv.weight")
            ? load_own(run, net, file, "net/")
            : load_own(run, net, file, "");
    eg_tensors_free(file);
    return st;
}

/* ---- names ---- */

eg_status start_note_classes(eg_run *run, const char *const *classes, int64_t count)
{
    size_t bytes = 0, at = 0;
    for (int64_t i = 0; i < count; i++) {
        bytes += strlen(classes[i]) + 1;
    }
    char *text = malloc(bytes + 1);
    if (!text) {
        return eg_fail(EG_ENOMEM, "detect", "out of memory");
    }
    for (int64_t i = 0; i < count; i++) {
        size_t n = strlen(classes[i]);
        memcpy(text + at, classes[i], n);
        text[at + n] = '\n';
        at += n + 1;
    }
    eg_status st = eg_file_write(eg_run_path(run, "classes.txt").text, text, bytes);
    free(text);
    return st;
}

static char **no_classes(const char *why)
{
    eg_failf(EG_EIO, "detect", "%s: there is no net in this folder that was trained here", why);
    return NULL;
}

char **start_classes(eg_run *run, int64_t *count)
{
    eg_path path = eg_run_path(run, "classes.txt");
    FILE *f = fopen(path.text, "r");
    char name[EG_NAME_MOST + 2];
    int64_t n = 0;
    size_t bytes = 0;
    while (f && fgets(name, sizeof name, f)) {
        n++;
        bytes += strlen(name) + 1;
    }
    char **names = n ? malloc((size_t)n * sizeof *names + bytes) : NULL, *at = names ? (char *)(names + n) : NULL;
    if (f) {
        rewind(f);
    }
    for (int64_t i = 0; names && i < n && fgets(name, sizeof name, f); i++) {
        name[strcspn(name, "\n")] = '\0';
        names[i] = strcpy(at, name);
        at += strlen(name) + 1;
    }
    if (f) {
        fclose(f);
    }
    *count = n;
    return names ? names : no_classes(path.text);
}
