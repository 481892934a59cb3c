/* onnx.c - a look into ONNX models, their results, and other files made of them. */
#include <stdio.h>
#include <string.h>

#include <egret/run/flags.h>

#include "onnx.h"

static int run(const eg_flags *line, const onnx_options *o)
{
    const tool_command commands[] = {
        {"check", onnx_check, 1},
        {"summary", onnx_summary, 1},
        {"run", onnx_run, 1},
        {"benchmark", onnx_benchmark, 1},
        {"convert", onnx_convert, o->net ? 1 : 2},
    };
    if (o->threads && eg_set_threads((int)o->threads)) {
        return eg_error_print(stderr);
    }
    return tool_run(line, commands, sizeof commands / sizeof *commands, o);
}

int main(int argc, char **argv)
{
    onnx_options o = {.frozen = false};
    const eg_flag table[] = {
        EG_FLAG_GROUP("inputs"),
        EG_FLAG_TEXT("input", &o.input, NULL, "NAME=FILE,...",
                     "tensors for inputs, of .npy, .npz, .pb or other files; others get random numbers"),
        EG_FLAG_INTEGER("dim", &o.dim, "1", 1, 1 << 20, "sizes that the model leaves open; of a net the batch"),
        EG_FLAG_INTEGER("seed", &o.seed, "1", 0, 1 << 30, "of random numbers"),
        EG_FLAG_GROUP("running"),
        EG_FLAG_SWITCH("frozen", &o.frozen, "for serving: nothing learns, and nodes become fewer"),
        EG_FLAG_TEXT("out", &o.out, NULL, "DIR", "write outputs as .npy files into this folder, and print none"),
        EG_FLAG_INTEGER("threads", &o.threads, "0", 0, 1024, "0: as many as there are"),
        EG_FLAG_INTEGER("runs", &o.runs, "20", 1, 1000000, "of benchmark"),
        EG_FLAG_INTEGER("warm", &o.warm, "3", 0, 1000000, "runs before them that do not count"),
        EG_FLAG_GROUP("what is written"),
        EG_FLAG_TEXT("to", &o.to, NULL, "NAME", "format of the weights; by default that of the file's ending"),
        EG_FLAG_TEXT("net", &o.net, NULL, "NAME", "write this net as a model (docs/models.md has their names)"),
        EG_FLAG_TEXT("weights", &o.weights, NULL, "FILE", "its weights; by default random ones"),
        EG_FLAG_INTEGER("classes", &o.classes, "0", 0, 1 << 20, "its outputs; 0: as many as it was made for"),
        EG_FLAG_INTEGER("side", &o.side, "0", 0, 1 << 14, "of its images, in pixels; 0: what it was made for"),
        EG_FLAG_SWITCH("any_batch", &o.any_batch, "its batch may have any size"),
        EG_FLAG_SWITCH("beside", &o.beside, "weights go into a file beside the model"),
    };
    eg_flags line = {.program = "egret-onnx",
                     .about = "Looks into ONNX models, runs them and makes other files of them:\n"
                              "  check FILE      reads it whole and says what it is, or what in it is not known\n"
                              "  summary FILE    its nodes: operators, names, shapes of their outputs, parameters\n"
                              "  run FILE        its outputs\n"
                              "  benchmark FILE  how long a run takes\n"
                              "  convert FROM TO           weights of a model, in any format that is written\n"
                              "  convert --net NAME TO     a net of egret-models as a model",
                     .table = table,
                     .count = EG_FLAG_COUNT(table),
                     .operand = "COMMAND FILE",
                     .least_operands = 2,
                     .most_operands = 3};
    int status;
    if (!eg_flags_parse(&line, argc, argv, &status)) {
        return status;
    }
    status = run(&line, &o);
    eg_flags_free(&line);
    return status;
}
