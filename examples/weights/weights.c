/* weights.c - a look into files of weights, and other files made of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/models.h>
#include <egret/run/flags.h>

#include "weights.h"

/* ---- opening ------------------------------------------------------------------------------------------ */

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, room = 0;
    for (size_t got = 1; f && got;) {
        if (n + 4096 > room) {
            room = 2 * room + 8192;
            char *more = realloc(text, room);
            if (!more) {
                break;
            }
            text = more;
        }
        got = fread(text + n, 1, 4095, f);
        n += got;
    }
    if (!f || !text || ferror(f)) {
        eg_failf(EG_EIO, "egret-weights", "cannot read %s", path);
        free(text);
        text = NULL;
    } else {
        text[n] = '\0';
    }
    if (f) {
        fclose(f);
    }
    return text;
}

/* The map of names that is asked for, to be freed; NULL without words: none is. */
static char *map_of(const weights_options *o, eg_status *st)
{
    *st = EG_OK;
    if (o->net) {
        eg_model_info info = eg_model_find(o->net);
        if (!info.name || !info.names) {
            *st = info.name ? eg_failf(EG_EINVAL, "egret-weights", "%s has no map of names", o->net)
                            : eg_last_error()->code;
            return NULL;
        }
        char *copy = malloc(strlen(info.names) + 1);
        *st = copy ? EG_OK : eg_fail(EG_ENOMEM, "egret-weights", "no memory for a map");
        return copy ? strcpy(copy, info.names) : NULL;
    }
    char *text = o->map ? read_text(o->map) : NULL;
    *st = o->map && !text ? eg_last_error()->code : EG_OK;
    return text;
}

eg_tensors *weights_open(const char *path, const weights_options *o)
{
    eg_status st;
    char *map = map_of(o, &st);
    eg_tensors *file = st ? NULL : eg_tensors_open(path, .format = o->format, .copy = o->copy);
    if (!map || !file) {
        free(map);
        return file;
    }
    eg_tensors *renamed = eg_tensors_renamed(file, map);
    eg_tensors_free(file);
    free(map);
    return renamed;
}

bool weights_wanted(const char *name, const weights_options *o)
{
    const char *word = o->only;
    while (word && *word) {
        const size_t n = strcspn(word, ",");
        char copy[128];
        if (n && n < sizeof copy) {
            memcpy(copy, word, n);
            copy[n] = '\0';
            if (strstr(name, copy)) {
                return true;
            }
        }
        word += n + (word[n] == ',');
    }
    return !o->only;
}

/* ---- the program -------------------------------------------------------------------------------------- */

static const tool_command commands[] = {
    {"list", weights_list, 1}, {"show", weights_show, 1},       {"sum", weights_sum, 1},
    {"diff", weights_diff, 2}, {"convert", weights_convert, 2},
};

int main(int argc, char **argv)
{
    weights_options o = {.copy = false};
    const eg_flag table[] = {
        EG_FLAG_GROUP("what is read"),
        EG_FLAG_TEXT("format", &o.format, NULL, "NAME", "of the files read; by default what they show to be"),
        EG_FLAG_SWITCH("copy", &o.copy, "read files into memory: others may write to them meanwhile"),
        EG_FLAG_GROUP("names"),
        EG_FLAG_TEXT("map", &o.map, NULL, "FILE", "rename tensors by this map (include/egret/io.h says how)"),
        EG_FLAG_TEXT("net", &o.net, NULL, "NAME", "rename them by the map of this net: to the names it has here"),
        EG_FLAG_TEXT("only", &o.only, NULL, "WORDS", "tensors with one of these words in their names, as conv1,fc"),
        EG_FLAG_GROUP("what is written"),
        EG_FLAG_TEXT("to", &o.to, NULL, "NAME", "its format; by default that of the file's ending"),
        EG_FLAG_CHOICE("dtype", &o.dtype, NULL, "f32|f64|f16|bf16", "what floats become"),
        EG_FLAG_INTEGER("shard_mib", &o.shard_mib, "0", 0, 1 << 20,
                        "safetensors: several files of so many MiB, and an index; 0: one file"),
        EG_FLAG_GROUP("diff"),
        EG_FLAG_REAL("tolerance", &o.tolerance, "0", 0, 1, "differences up to this times the largest number are none"),
    };
    eg_flags line = {
        .program = "egret-weights",
        .about = "Looks into files of weights and makes other files of them:\n"
                 "  list FILE       its tensors: types, shapes, bytes; and its texts\n"
                 "  show FILE       their numbers (--only)\n"
                 "  sum FILE        a checksum of each (CRC-32C of its bytes here), and of all\n"
                 "  diff FILE FILE  which are in one alone, of other shapes, or have other numbers\n"
                 "  convert FROM TO\n"
                 "Formats are safetensors (.safetensors, .safetensors.index.json), PyTorch's .pt, TensorFlow's\n"
                 "checkpoints, Keras' .h5 and .keras, .npz, .npy, .gguf and .onnx, as far as they are read or\n"
                 "written.",
        .table = table,
        .count = EG_FLAG_COUNT(table),
        .operand = "COMMAND FILE",
        .least_operands = 2,
        .most_operands = 3};
    int status;
    if (!eg_flags_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (o.map && o.net) {
        fprintf(stderr, "egret-weights: --map and --net are two maps\n");
        status = 2;
    } else {
        status = tool_run(&line, commands, sizeof commands / sizeof *commands, &o);
    }
    eg_flags_free(&line);
    return status;
}
