/* restore.c - see restore.h. */
#include "restore.h"

#include <stdio.h>
#include <string.h>

#include <egret/models.h>

static const char op[] = "classify";

/* The file of --ckpt_file_name, or the latest checkpoint of --model_dir; "" if there is none. */
static eg_path find_file(const eg_run *run, const options *o)
{
    if (o->ckpt_file_name) {
        return o->model_dir ? eg_path_in(o->model_dir, o->ckpt_file_name) : eg_path_in(o->ckpt_file_name, "");
    }
    if (!o->model_dir) {
        return eg_run_latest(run);
    }
    char name[64];
    eg_saver *saver = eg_saver_new(o->model_dir);
    int64_t step = eg_saver_latest(saver);
    eg_saver_free(saver);
    snprintf(name, sizeof name, "checkpoint-%010lld.safetensors", (long long)step);
    return step < 0 ? (eg_path){.text = ""} : eg_path_in(o->model_dir, name);
}

static eg_tensors *open_file(const eg_run *run, const options *o)
{
    eg_path path = find_file(run, o);
    size_t length = strlen(path.text);
    if (length && path.text[length - 1] == '/') { /* a name alone */
        path.text[length - 1] = '\0';
    }
    if (!length) {
        eg_failf(EG_ESTATE, op, "there is no checkpoint in %s",
                 o->model_dir ? o->model_dir : eg_run_path(run, "").text);
        return NULL;
    }
    eg_run_say((eg_run *)run, "weights of %s", path.text);
    return eg_tensors_open(path.text);
}

/* A name of the net as the file has it: what --prefix_map says the other way round. */
static void rename_back(const char *map, const char *name, char *to, size_t size)
{
    for (const char *at = map; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t old = strcspn(at, ":,"), length = at[old] == ':' ? strcspn(at + old + 1, ",") : 0;
        if (at[old] == ':' && strncmp(name, at + old + 1, length) == 0) {
            snprintf(to, size, "%.*s%s", (int)old, at, name + length);
            return;
        }
    }
    snprintf(to, size, "%s", name);
}

/* A tensor of the file: of a module's, or of the net in a checkpoint. */
static eg_tensor *find(const eg_tensors *file, const char *name)
{
    char inside[512];
    snprintf(inside, sizeof inside, "net/%s", name);
    return eg_tensors_has(file, inside) ? eg_tensors_get(file, inside)
           : eg_tensors_has(file, name) ? eg_tensors_get(file, name)
                                        : NULL;
}

/* How many tensors of the net there are. */
static int64_t fitting(const options *o, const eg_tensors *file, const eg_tensors *state)
{
    int64_t count = 0;
    for (int64_t i = 0; i < eg_tensors_count(state) && file; i++) {
        char theirs[400];
        rename_back(o->prefix_map, eg_tensors_name(state, i), theirs, sizeof theirs);
        count += find(file, theirs) != NULL;
    }
    return count;
}

/* What there is to take from: a file, or what the net's map of names has made of it. */
typedef struct source {
    eg_tensors *tensors;
    bool renamed; /* then texts say what was called how */
} source;

/* Through the map where more of the net is found that way: weights as others publish them. */
static source open_source(const eg_run *run, const options *o, const eg_tensors *state)
{
    eg_tensors *file = open_file(run, o);
    const char *names = eg_model_find(o->model_name).names;
    int64_t own = fitting(o, file, state);
    bool foreign = file && names && own < eg_tensors_count(state);
    eg_tensors *renamed = foreign ? eg_tensors_renamed(file, names) : NULL;
    bool better = fitting(o, renamed, state) > own || (foreign && !renamed && !own); /* NULL is a failure in words */
    eg_tensors_free(better ? file : renamed);
    return (source){better ? renamed : file, better};
}

/* What the file has of the net, under the net's names, with a text that is the file's. */
static eg_status take(const options *o, const eg_tensors *state, const source *from, eg_tensors *taken,
                      eg_tensors *names)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        const char *name = eg_tensors_name(state, i);
        char theirs[400];
        rename_back(o->prefix_map, name, theirs, sizeof theirs);
        eg_tensor *found = find(from->tensors, theirs);
        const char *before = found && from->renamed ? eg_tensors_text(from->tensors, theirs) : theirs;
        bool excluded = options_begins(o->checkpoint_exclude_scopes, name) ||
                        (before && options_begins(o->checkpoint_exclude_scopes, before));
        st = found && before && names ? eg_tensors_set_text(names, name, before) : EG_OK;
        if (found && !excluded && !st) {
            st = eg_tensors_set(taken, name, found);
            st = st ? st : eg_tensors_set_text(taken, name, before);
        }
    }
    return st || eg_tensors_count(taken) ? st : eg_fail(EG_EFORMAT, op, "the file has none of the net's weights");
}

/* All of the file that the net has, or what learns alone, tells what became of it. */
static eg_status restore(eg_run *run, const options *o, eg_module *net, eg_load_options how, eg_tensors *names)
{
    eg_load_report *report = NULL;
    eg_tensors *taken = eg_tensors_new(), *state = eg_module_state(net);
    source from = open_source(run, o, state);
    eg_status st = from.tensors && taken && state ? take(o, state, &from, taken, names) : eg_last_error()->code;
    how.size = sizeof how;
    how.report = &report;
    st = st ? st : eg_module_load_state_with(net, taken, &how);
    if (report) {
        eg_load_report_print(eg_run_out(run), report);
    }
    eg_load_report_free(report);
    eg_tensors_free(from.tensors);
    eg_tensors_free(taken);
    eg_tensors_free(state);
    return st;
}

eg_status restore_weights(eg_run *run, const options *o, eg_module *net, eg_tensors *names)
{
    const eg_load_options how = {.allow_missing = true, .trainable_only = !o->restore_statistics};
    eg_status st = restore(run, o, net, how, names);
    if (st == EG_ESHAPE) {
        const eg_error why = *eg_last_error();
        return eg_failf(st, op, "%s; --checkpoint_exclude_scopes leaves it out", why.message);
    }
    return st;
}

eg_status restore_all(eg_run *run, const options *o, eg_module *net)
{
    options all = *o;
    all.prefix_map = all.checkpoint_exclude_scopes = NULL;
    return restore(run, &all, net, (eg_load_options){.allow_missing = false}, NULL); /* names what is missing */
}
