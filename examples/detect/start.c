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

/* Loads what fits, and counts what did and what did not. */
static eg_status fit(eg_module *into, const eg_tensors *from, int64_t *loaded, int64_t *anew)
{
    eg_load_report *report = NULL;
    eg_status st = eg_module_load_state(into, from, .allow_missing = true, .allow_unexpected = true, .skip_shape = true,
                                        .report = &report);
    *loaded += eg_load_report_of(report, EG_LOAD_LOADED) + eg_load_report_of(report, EG_LOAD_CONVERTED);
    *anew += eg_load_report_of(report, EG_LOAD_MISSING) + eg_load_report_of(report, EG_LOAD_OTHER_SHAPE);
    eg_load_report_free(report);
    return st;
}

/* A detector over one level has its residual net in two parts. */
static bool is_c4(const eg_module *net)
{
    return strstr(net->kind->name, "c4") != NULL;
}

/* Into all of the net, or what is a classifier's into its residual net. */
static eg_status load(eg_run *run, eg_module *net, const eg_tensors *from, bool classifier, const char *what)
{
    int64_t loaded = 0, anew = 0;
    eg_status st;
    if (!classifier) {
        st = fit(net, from, &loaded, &anew);
    } else if (is_c4(net)) {
        st = fit(eg_module_find(net, "features"), from, &loaded, &anew);
        st = st ? st : fit(eg_module_find(net, "stage4"), from, &loaded, &anew);
    } else {
        st = fit(eg_module_find(net, "features.trunk"), from, &loaded, &anew);
    }
    if (!st && !loaded) {
        return eg_failf(EG_EFORMAT, "detect", "nothing in %s fits the net", what);
    }
    if (!st) {
        eg_run_say(run, "begins with %lld tensors of %s; %lld begin anew", (long long)loaded, what, (long long)anew);
    }
    return st;
}

/* Of a file in which names are as this library has them; in a checkpoint the net is called "net". */
static eg_status load_own(eg_run *run, eg_module *net, const eg_tensors *file, const char *prefix)
{
    eg_tensors *own = below(file, prefix);
    if (!own) {
        return eg_last_error()->code;
    }
    bool classifier = eg_tensors_has(own, "conv1.conv.weight");
    eg_status st = load(run, net, own, classifier, classifier ? "a classifier" : "a detector");
    eg_tensors_free(own);
    return st;
}

/* Of a file in which names are others'. */
static eg_status load_renamed(eg_run *run, eg_module *net, const eg_tensors *file, bool classifier, const char *what)
{
    const char *of = is_c4(net) ? "resnet_v1_50" : "resnet50"; /* names are those of all sizes */
    const char *names = classifier ? eg_model_find(of).names : eg_detector_names(net);
    eg_tensors *renamed = names ? eg_tensors_renamed(file, names) : NULL;
    eg_status st = renamed ? load(run, net, renamed, classifier, what) : eg_last_error()->code;
    eg_tensors_free(renamed);
    return st;
}

static bool has_begin(const eg_tensors *file, const char *begin)
{
    bool found = false;
    for (int64_t i = 0; i < eg_tensors_count(file) && !found; i++) {
        found = !strncmp(eg_tensors_name(file, i), begin, strlen(begin));
    }
    return found;
}

/* Whether a name in the file ends so. */
static bool has_end(const eg_tensors *file, const char *end)
{
    bool found = false;
    for (int64_t i = 0; i < eg_tensors_count(file) && !found; i++) {
        const char *name = eg_tensors_name(file, i);
        size_t n = strlen(name), m = strlen(end);
        found = n >= m && !strcmp(name + n - m, end);
    }
    return found;
}

eg_status start_from(eg_run *run, eg_module *net, const char *path)
{
    eg_tensors *file = net ? eg_tensors_open(path) : NULL;
    if (!file) {
        return eg_last_error()->code;
    }
    eg_status st = eg_tensors_has(file, "backbone.body.conv1.weight")
                       ? load_renamed(run, net, file, false, "torchvision's detector")
                   : eg_tensors_has(file, "layer1.0.conv1.weight")
                       ? load_renamed(run, net, file, true, "torchvision's classifier")
                   : has_end(file, "/bottleneck_v1/conv1/weights")
                       ? load_renamed(run, net, file, true, "TF-Slim's classifier")
                       : load_own(run, net, file, has_begin(file, "net/") ? "net/" : "");
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
