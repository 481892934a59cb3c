#!/usr/bin/env python3
"""Writes a call of every public function whose arguments can be made hostile one at a time.

    calls.py LUA_FOLDER INCLUDE_DIR OUT.c DEPFILE

A slot is an argument, or a field of an options struct behind one. A call gives every slot a plausible value
but the one that is to be hostile (values.h). A type that is not known here fails the build.
"""
import sys

sys.path.insert(0, sys.argv[1])
import headers  # noqa: E402

h = headers.read(sys.argv[2] + "/egret")
# Not called: they end the caller's state or wait for a debugger, their arguments are what a walk gave them, or any
# number of values that a format tells of.
SKIP = {"eg_member_child", "eg_member_parameter", "eg_member_buffer", "eg_debug_fail_alloc", "eg_set_debug",
        "eg_failf", "eg_follow", "eg_onnx_follow", "eg_onnx_save_function_with",
        "eg_byte_bpe_new_with",  # of two files that belong together
        "eg_transformer_next", "eg_gpt2_next",  # whose net is no pointer of its type
        "eg_gpt2_new_with"} | {  # the smallest is large
    # of a call of an operator, which only a model makes
    "eg_onnx_input_count", "eg_onnx_output_count", "eg_onnx_input", "eg_onnx_give", "eg_onnx_int", "eg_onnx_float",
    "eg_onnx_text", "eg_onnx_ints", "eg_onnx_floats", "eg_onnx_tensor"}
SCALARS = {"double": "real", "int64_t": "int64", "int": "int", "size_t": "size", "eg_dtype": "enum",
           "eg_shape": "shape", "eg_axes": "axes"}
HANDLES = {"eg_module", "eg_dataset", "eg_optim", "eg_saver", "eg_tensors", "eg_scaler", "eg_ema", "eg_step",
           "eg_events", "eg_journal", "eg_metrics", "eg_example", "eg_word_counts", "eg_vocabulary", "eg_cache",
           "eg_ngram", "eg_tfrecord_writer", "eg_json", "eg_tokenizer", "eg_device", "eg_stream", "eg_event", "eg_comm",
           "eg_work"}
VALUES = {"eg_tape": "v_tape(h)", "eg_scope": "eg_scope_push()", "eg_rnn": "(eg_rnn){0}", "bool": "v_bool(h)",
          "eg_random_state": "(eg_random_state){0, 0}", "uint64_t": "1", "unsigned": "0", "char": "0",
          "eg_dataset_position": "(eg_dataset_position){0, 0}"}
RESULTS = {"eg_cvt_states"}  # of one function, which another is given
# Whose NULL is an answer, or is handed through.
SILENT = {"eg_dataset_next", "eg_cache_get", "eg_device_of", "eg_device_data", "eg_device_data_mut", "eg_data", "eg_data_mut",
          "eg_stream_handle", "eg_tensors_text", "eg_json_get", "eg_json_find", "eg_tensors_format", "eg_module_finish", "eg_scope_pop", "eg_keep", "eg_scope_adopt"}
# Nets of millions of weights: their options are checked by what the small ones of models/vision.h have in common.
SMALL_NETS = {"eg_model_forward", "eg_lenet_new_with", "eg_cifarnet_new_with", "eg_resnet_cifar_v1_new_with",
              "eg_resnet_cifar_v2_new_with", "eg_mobilenet_v1_new_with", "eg_mobilenet_v2_new_with"}
LARGE_NETS = {"eg_faster_rcnn_new_with", "eg_mask_rcnn_new_with", "eg_retinanet_new_with",
              "eg_faster_rcnn_c4_new_with", "eg_mask_rcnn_c4_new_with"}
# Fields whose 0 is refused, of all structs or of one.
NEEDED = {"kernel": "1", "sizes": "{8}", "batch": "1", "steps": "2", "eg_prune_options.density": "0.5"}
COUNTS = {"n", "count", "nin", "nout", "most", "m", "bytes", "size", "columns", "fields", "nc", "nl"}


class Call:
    def __init__(self, f):
        self.f, self.slots, self.lines, self.tensors = f, [], [], 0

    def slot(self, kind, name):
        self.slots.append((f"HOW_{kind.upper()}", name))
        return len(self.slots) - 1

    def fields(self, struct, variable, name):
        for p in struct.fields:
            where, what = f"&{variable}.{p.name}", f"{name}.{p.name}"
            kind = "enum" if p.type in h.enums else SCALARS.get(p.type)
            if p.name == "size" or p.type == "size_t":
                continue
            if (p.type, p.stars, bool(p.array)) == ("bool", 0, False):
                self.lines.append(f"set_bool(h, {where});")
            if p.array and kind in ("real", "int64"):
                where = f"({'double' if kind == 'real' else 'int64_t'} *){variable}.{p.name}"
            elif p.array:
                continue
            if kind and not p.stars:
                extra = ", sizeof " + variable + "." + p.name if kind == "enum" else ""
                self.lines.append(f"set_{kind}(h, {self.slot(kind, what)}, {where}{extra});")
            elif (p.type, p.stars) == ("eg_tensor", 1):
                self.lines.append(f"set_tensor(h, {self.slot('tensor', what)}, {where});")
            elif p.type == "function" and p.name == "activation":
                self.lines.append(f"set_activation(h, {self.slot('activation', what)}, {where});")

    def argument(self, i, p):
        a, f = f"a{i}", self.f
        arrays = any(q.stars and q.type != "eg_tensor" or q.stars == 2 for q in f.parameters)
        if p.stars == 0 and p.type in VALUES:
            return VALUES[p.type]
        if p.stars == 0 and p.type in RESULTS:
            self.lines.append(f"{p.type} {a} = v_{p.type[3:]}();")
            self.fields(h.structs[p.type], a, p.name)
            return a
        if p.stars == 0 and not p.array and p.type in ("int", "int64_t", "size_t") and arrays and p.name in COUNTS:
            # what lies behind the pointer cannot be known: only fewer than there are
            return f"v_count(h, {self.slot('count', p.name)})"
        if p.stars == 0 and not p.array and (p.type in SCALARS or p.type in h.enums):
            kind = SCALARS.get(p.type, "enum")
            cast = f"({p.type})" if kind == "enum" else ""
            return f"{cast}v_{kind}(h, {self.slot(kind, p.name)})"
        if p.type == "eg_parameters":
            return f"v_parameters(h, {self.slot('parameters', p.name)})"
        if p.type == "eg_tensor" and p.stars == 1:
            if p.name == "bias":
                return f"v_optional(h, {self.slot('tensor', p.name)})"
            self.tensors += 1
            return f"v_tensor(h, {self.slot('tensor', p.name)}, {self.tensors - 1})"
        if p.type == "eg_tensor" and p.stars == 2:
            which = "tensors" if "const" in p.code else "out"
            return f"v_{which}(h, {self.slot(which, p.name)})"
        if p.type in HANDLES and p.stars == 1:
            return f'v_{p.type[3:] if p.type != "eg_tensors" else "tensors_map"}(h, {self.slot("pointer", p.name)}, "{f.name}")'
        if p.type in ("eg_module", "eg_dataset") and p.stars == 2:
            return f"v_{p.type[3:]}s(h, {self.slot('tensors', p.name)})"
        if p.stars == 1 and p.type in h.structs and h.structs[p.type].is_options or p.type == "eg_schedule":
            of_one = {q.name: NEEDED.get(f"{p.type}.{q.name}", NEEDED.get(q.name)) for q in h.structs[p.type].fields}
            needed = "".join(f", .{q.name} = {of_one[q.name]}" for q in h.structs[p.type].fields
                             if of_one[q.name] and not q.stars and q.type != "eg_shape")
            fill = f"v_{p.type[3:]}()" if p.type in ("eg_custom_op", "eg_module_kind", "eg_saver_part",
                                                     "eg_schedule") else f"{{.size = sizeof({p.type}){needed}}}"
            name = f"static {p.type} {a};" if p.type == "eg_module_kind" else f"{p.type} {a};"
            self.lines.append(f"{name} {a} = {fill if fill[0] == 'v' else '(' + p.type + ')' + fill};")
            self.fields(h.structs[p.type], a, p.name)
            return f"v_options(h, {self.slot('pointer', p.name)}, &{a})"
        if p.type == "function" or p.type in h.callbacks:
            kind = p.name if p.type == "function" else p.type[3:]
            return f"f_{f.name[3:] if p.type == 'function' else kind}(h, {self.slot('pointer', p.name)})"
        if p.stars == 1 and p.type == "char" and p.const:
            return f'v_text(h, {self.slot("text", p.name)}, "{f.name}", "{p.name}")'
        if p.stars == 2 and p.type == "char" and p.const:
            return f"v_texts(h, {self.slot('pointer', p.name)})"
        if p.stars == 1 and p.type == "FILE":
            return f"v_file(h, {self.slot('pointer', p.name)})"
        if p.stars or p.array:
            return f"v_memory(h, {self.slot('pointer', p.name)}, {int(p.const)})"
        raise SystemExit(f"calls.py: {f.name}: no value for {p.code}")

    def text(self, number):
        f = self.f
        arguments = [self.argument(i, p) for i, p in enumerate(f.parameters)]
        names = []
        for i, (p, a) in enumerate(zip(f.parameters, arguments)):
            if a.startswith("v_options") or a.startswith("f_") or p.array:
                names.append(a)
            else:
                self.lines.append(f"{p.code.rsplit(p.name, 1)[0]}b{i} = {a};")
                names.append(f"b{i}")
        call = f"{f.name}({', '.join(names)})"
        r = f.result
        if r.stars:
            end = f"return {call} != NULL;"
        elif r.type == "eg_status":
            end = f"return {call} == EG_OK;"
        elif r.type == "eg_parameters":
            end = f"return {call}.tensors != NULL;"
        else:
            end = f"(void){call};\n    return true;" if r.type != "void" else f"{call};\n    return true;"
        head = "(void)h;\n    " if not any("h, " in x or "(h)" in x for x in self.lines + [end]) else ""
        slots = ", ".join(f'{{"{n}", {k}}}' for k, n in self.slots)
        body = "\n    ".join(self.lines + [end])
        return (f"static bool call_{number}(const hostile *h)\n{{\n    {head}{body}\n}}\n"
                + (f"static const argument slots_{number}[] = {{{slots}}};\n" if slots else ""))


functions = [f for f in h.functions.values() if f.name not in SKIP and
             (f.header != "models/vision.h" or f.name in SMALL_NETS) and f.name not in LARGE_NETS]
out = ["/* Made by tests/hostile/calls.py from the headers. */", '#include "tests/hostile/values.h"', ""]
rows = []
for number, f in enumerate(functions):
    c = Call(f)
    text = c.text(number)
    out.append(text)
    checked = f.name not in SILENT and (f.result.stars or f.result.type in ("eg_status", "eg_parameters"))
    slots = f"slots_{number}, {len(c.slots)}" if c.slots else "NULL, 0"
    rows.append(f'    {{"{f.name}", call_{number}, {slots}, {"true" if checked else "false"}}},')
out += ["const call calls[] = {", *rows, "};", f"const int call_count = {len(rows)};", ""]
open(sys.argv[3], "w").write("\n".join(out))
open(sys.argv[4], "w").write(f"{sys.argv[3]}: {' '.join(str(p) for p in h.paths)}\n")
