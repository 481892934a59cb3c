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
    return eg_safetensors_load(path.text);
}

/* Whether a name begins with one of those between commas. */
static bool is_excluded(const char *scopes, const char *name)
{
    for (const char *at = scopes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        if (length && strncmp(name, at, length) == 0) {
            return true;
        }
    }
    return false;
}

/* A name of the net as the file has it: what --prefix_map says the other way round. Whether it is another. */
static bool rename_back(const char *map, const char *name, char *to, size_t size)
{
    for (const char *at = map; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t old = strcspn(at, ":,"), length = at[old] == ':' ? strcspn(at + old + 1, ",") : 0;
        if (at[old] == ':' && strncmp(name, at + old + 1, length) == 0) {
            snprintf(to, size, "%.*s%s", (int)old, at, name + length);
            return true;
        }
    }
    snprintf(to, size, "%s", name);
    return false;
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

/* Through the map where more of the net is found that way: weights as TF-Slim and torchvision publish them. */
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

/* Adds what the file has for one tensor of the net; what became of it, in words. NULL after a failure. */
static const char *add(const options *o, const source *from, const char *name, const eg_tensor *mine, eg_tensors *taken,
                       char *theirs, size_t size)
{
    bool renamed = rename_back(o->prefix_map, name, theirs, size) || from->renamed;
    eg_tensor *found = find(from->tensors, theirs);
    if (found && from->renamed) {
        snprintf(theirs, size, "%s", eg_tensors_text(from->tensors, theirs));
    }
    if (is_excluded(o->checkpoint_exclude_scopes, name)) {
        return "excluded";
    }
    if (!found) {
        return "not there";
    }
    if (eg_numel(found) != eg_numel(mine) || eg_ndim(found) != eg_ndim(mine)) {
        eg_failf(EG_ESHAPE, op,
                 "%s has %lld numbers in the file and %lld in the net; --checkpoint_exclude_scopes leaves it out", name,
                 (long long)eg_numel(found), (long long)eg_numel(mine));
        return NULL;
    }
    return eg_tensors_set(taken, name, found) ? NULL : renamed ? "renamed" : "restored";
}

static eg_status take(eg_run *run, const options *o, const eg_tensors *state, const source *from, eg_tensors *taken)
{
    eg_status st = EG_OK;
    int64_t counts[2] = {0, 0};
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        const eg_tensor *mine = eg_tensors_at(state, i);
        const char *name = eg_tensors_name(state, i);
        if (!eg_is_parameter(mine) && !o->restore_statistics) {
            continue;
        }
        char theirs[400];
        const char *fate = add(o, from, name, mine, taken, theirs, sizeof theirs);
        st = fate ? EG_OK : eg_last_error()->code;
        bool renamed = fate && strcmp(fate, "renamed") == 0, there = renamed || (fate && strcmp(fate, "restored") == 0);
        counts[there]++;
        if (fate) {
            eg_run_say(run, "%c %-9s %s%s%s", there ? '*' : ' ', fate, name, renamed ? " from " : "",
                       renamed ? theirs : "");
        }
    }
    if (!st) {
        eg_run_say(run, "%lld tensors restored, %lld as they were made", (long long)counts[1], (long long)counts[0]);
    }
    return st || counts[1] ? st : eg_fail(EG_EFORMAT, op, "the file has none of the net's weights");
}

eg_status restore_weights(eg_run *run, const options *o, eg_module *net)
{
    eg_tensors *taken = eg_tensors_new(), *state = eg_module_state(net);
    source from = open_source(run, o, state);
    eg_status st = from.tensors && taken && state ? take(run, o, state, &from, taken) : eg_last_error()->code;
    st = st ? st : eg_module_load_state(net, taken, .allow_missing = true);
    eg_tensors_free(from.tensors);
    eg_tensors_free(taken);
    eg_tensors_free(state);
    return st;
}

eg_status restore_all(eg_run *run, const options *o, eg_module *net)
{
    options all = *o;
    all.restore_statistics = true;
    all.prefix_map = all.checkpoint_exclude_scopes = NULL;
    eg_tensors *taken = eg_tensors_new(), *state = eg_module_state(net);
    source from = open_source(run, &all, state);
    eg_status st = from.tensors && taken && state ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        eg_tensor *found = find(from.tensors, eg_tensors_name(state, i));
        st = found ? eg_tensors_set(taken, eg_tensors_name(state, i), found) : EG_OK;
    }
    if (!st && from.renamed) {
        eg_run_say(run, "renamed: %s from %s and so on", eg_tensors_name(from.tensors, 0),
                   eg_tensors_text(from.tensors, eg_tensors_name(from.tensors, 0)));
    }
    st = st ? st : eg_module_load_state(net, taken); /* names what is missing */
    eg_tensors_free(state);
    eg_tensors_free(from.tensors);
    eg_tensors_free(taken);
    return st;
}
