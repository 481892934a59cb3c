#!/usr/bin/env python3
"""Writes what the Lua language server is told of the module: types of arguments and results, options by name, and
the text of the headers.

    annotations.py INCLUDE_DIR OUT.lua DEPFILE
"""

import sys

import generate
import headers

HEAD = """---@meta egret
-- Made by lua/annotations.py from the headers: for the Lua language server, not to be run.

---@class egret
local eg = {}

---@class egret.nn
eg.nn = {}
---@class egret.optim
eg.optim = {}
---@class egret.data
eg.data = {}
---@class egret.models
eg.models = {}
"""

# What lua/*.c does by hand: arguments and results.
BY_HAND = """
---@class eg.tape
local tape = {}
function tape:close() end
---@param x eg.tensor
---@return eg.tensor x
function tape:watch(x) end
---@param y eg.tensor
---@param xs eg.tensor[]
---@param options? eg.gradients_options
---@return (eg.tensor|false)[]
function tape:gradients(y, xs, options) end

---@param options? eg.tape_options
---@return eg.tape
function eg.tape(options) end
--- What f returns first, and its derivatives; of a list a list.
---@param f fun(): eg.tensor
---@param ... eg.tensor
---@return eg.tensor loss
---@return eg.tensor ...
---@overload fun(f: fun(): eg.tensor, xs: eg.tensor[]): eg.tensor, eg.tensor[]
function eg.grad(f, ...) end
--- An image, a batch or a list of them, in the terminal or notebook.
---@param images eg.tensor|eg.tensor[]
---@param options? {scale?: number, columns?: integer, range?: number[], title?: string, captions?: string[], gif?: string, seconds?: number, path?: string}
function eg.show(images, options) end
---@class eg.plot_options
---@field x? any
---@field labels? string|string[]
---@field title? string
---@field xlabel? string
---@field ylabel? string
---@field log? boolean|string
---@field smooth? number
---@field width? integer
---@field height? integer
---@field path? string

--- Curves: y, or x and y, each numbers or several curves; in the terminal or notebook.
---@param y number[]|eg.tensor|(number[]|eg.tensor)[]
---@param options? eg.plot_options
---@overload fun(x: any, y: any, options?: eg.plot_options)
function eg.plot(y, options) end
--- A matrix as colours, with words along its sides, in the terminal or notebook.
---@param x eg.tensor
---@param options? {rows?: string[], columns?: string[], title?: string, range?: number[], path?: string}
function eg.heatmap(x, options) end
--- A sound, [samples] or [channels, samples], as waveform and spectrogram, in the terminal or notebook; there with a player.
---@param x eg.tensor
---@param options {rate: integer, title?: string, path?: string}
function eg.sound(x, options) end
--- An image with frames around boxes and with keypoints, as an image.
---@param image eg.tensor
---@param boxes? eg.tensor
---@param options? {labels?: eg.tensor, scores?: eg.tensor, least?: number, classes?: string[], masks?: eg.tensor, dashed?: boolean, scale?: integer, keypoints?: eg.tensor, links?: eg.tensor}
---@return eg.tensor
function eg.draw_objects(image, boxes, options) end
--- Where pictures go instead of the terminal.
---@param hook? fun(kind: "image/png"|"text/plain"|"text/html", data: string, text: string)
---@return function? before
function eg.display(hook) end
--- A list, nested or not, of numbers or booleans as a tensor: i64, bool or f32 if no dtype is given.
---@param values any
---@param dtype? eg.dtype
---@return eg.tensor
function eg.tensor(values, dtype) end
--- Row-major elements out of a string; without shape and dtype its bytes, u8.
---@param bytes string
---@param shape? eg.shape
---@param dtype? eg.dtype
---@return eg.tensor
function eg.from_bytes(bytes, shape, dtype) end
---@param shape? eg.shape
---@param dtype? eg.dtype
---@return eg.tensor
---@overload fun(...: integer|eg.dtype): eg.tensor
function eg.rand(shape, dtype) end
---@param shape? eg.shape
---@param dtype? eg.dtype
---@return eg.tensor
---@overload fun(...: integer|eg.dtype): eg.tensor
function eg.randn(shape, dtype) end
---@class eg.custom_functions
---@field name? string
---@field forward fun(...: eg.tensor): eg.tensor
---@field backward fun(dy: eg.tensor, y: eg.tensor, ...: eg.tensor): ...

--- An op of one's own, with gradient.
---@param op eg.custom_functions
---@return fun(...: eg.tensor): eg.tensor
function eg.custom(op) end
---@param f fun(...: eg.tensor): eg.tensor
---@param ... eg.tensor
---@return eg.tensor
function eg.checkpoint(f, ...) end
--- What f computes of the inputs as an ONNX model.
---@param f fun(...: eg.tensor): ...
---@param inputs eg.tensor[]
---@param path string
---@param options? table
function eg.onnx_save_function(f, inputs, path, options) end
--- A module written in Lua: modules and parameters among the fields are its members.
---@param fields {forward?: function, buffers?: table<string, eg.tensor>, [string]: any}
---@return eg.module
function eg.module(fields) end
---@param dtype eg.dtype
---@param f function
---@return any ...
function eg.autocast(dtype, f, ...) end
---@param f fun(...: eg.tensor): ...
---@param options? table
---@return eg.step
function eg.step(f, options) end
--- What a net says next, step by step: it is asked of ids, and keeps what it remembers in the cache.
---@param next fun(ids: eg.tensor, cache: eg.cache): eg.tensor
---@param prompts eg.tensor
---@param options? table
---@return {ids: eg.tensor, lengths: eg.tensor, scores: eg.tensor}
function eg.generate(next, prompts, options) end
---@param next fun(ids: eg.tensor, cache: eg.cache): eg.tensor
---@param prompts eg.tensor
---@param options? table
---@return {ids: eg.tensor, lengths: eg.tensor, scores: eg.tensor}
function eg.beam_search(next, prompts, options) end
---@param net eg.module
---@param ids eg.tensor
---@param cache eg.cache
---@return eg.tensor logits
function eg.transformer_next(net, ids, cache) end
---@param net eg.module
---@param ids eg.tensor
---@param cache eg.cache
---@return eg.tensor logits
function eg.gpt2_next(net, ids, cache) end
---@param name string
---@return eg.tensor?
function cache:get(name) end
--- What the headers say of a function.
---@param what string|function
---@return {name: string, usage: string, c: string, text: string, header: string, about: string}|nil
function eg.manual(what) end
--- Nested lists of the elements.
---@return any
function tensor:table() end
--- The elements, row-major, as a string.
---@return string
function tensor:bytes() end
---@return number|integer|boolean
function tensor:item() end
--- The size of an axis, or of all.
---@param axis? integer
---@return integer|integer[]
function tensor:size(axis) end
---@return eg.tensor self
function tensor:requires_grad() end
---@return eg.tensor self
function tensor:parameter() end
--- The text that print shows.
---@param options? eg.print_options
---@return string
function tensor:format(options) end
---@param f fun(...: eg.tensor): ...
---@param options? eg.map_options
---@return eg.dataset
function dataset:map(f, options) end
---@param f fun(...: eg.tensor): boolean
---@return eg.dataset
function dataset:filter(f) end
--- The names of an image folder's classes, in the order of their numbers.
---@return string[]
function dataset:classes() end
---@param f fun(index: integer): ...
---@param count integer
---@return eg.dataset
function eg.data.from(f, count) end
---@param pattern string
---@param f fun(path: string): eg.dataset
---@param options? eg.shards_options
---@return eg.dataset
function eg.data.shards(pattern, f, options) end
---@param tape eg.tape|fun(): eg.tensor
---@param loss? eg.tensor
---@return eg.tensor|eg.optim
function optim:minimize(tape, loss) end
--- The first half of minimize: adds to the gradients that optim:update() steps with.
---@param tape eg.tape|fun(): eg.tensor
---@param loss? eg.tensor
---@return eg.tensor|eg.optim
function optim:backward(tape, loss) end
---@param optim eg.optim
---@param tape eg.tape|fun(): eg.tensor
---@param loss? eg.tensor
---@return eg.tensor|eg.scaler
function scaler:minimize(optim, tape, loss) end
---@param gradients (eg.tensor|false)[]
---@return eg.optim self
function optim:step(gradients) end
---@param gradients (eg.tensor|false)[]
---@param max number
---@param options? eg.clip_options
---@return number norm
function eg.clip_grad_norm(gradients, max, options) end
---@param f fun(...: eg.tensor): eg.tensor
---@param inputs eg.tensor[]
---@param options? eg.gradcheck_options
---@return true
function eg.gradcheck(f, inputs, options) end
--- Names and tensors of a map: for name, tensor in eg.each(map) do.
---@param map eg.tensors
---@return fun(): string, eg.tensor
function eg.each(map) end
eg.json = {}
--- What null is read as, and written for.
eg.json.null = nil
---@param text string|eg.tensor
---@return any value
function eg.json.decode(text) end
---@param path string
---@return any value
function eg.json.load(path) end
---@param value any
---@param options? eg.json_options
---@return string
function eg.json.encode(value, options) end
---@param value any
---@param path string
---@param options? eg.json_options
function eg.json.save(value, path, options) end
---@param list table
---@return table list
function eg.json.array(list) end
--- Every row of the op table.
---@return eg.op_info[]
function eg.op_walk() end
---@param most? integer
---@return eg.profile_total[]
function eg.profile_totals(most) end
--- The names of the manual's pages, for `for`.
---@return fun(): string
function eg.manual_pages() end
---@param stream eg.stream
---@return eg.stream before
function eg.use_stream(stream) end
---@param device eg.device|string
---@return eg.device_info
function eg.device_describe(device) end
---@return eg.device_info
function device:describe() end
---@param ... eg.tensor
---@return eg.tensor ...
function step:run(...) end
--- A part of one's own in checkpoints.
---@param name string
---@param part {state: (fun(): table<string, eg.tensor>), load: fun(state: table<string, eg.tensor>)}
function saver:add(name, part) end
--- A line of names and values.
---@param name string
---@param value number|integer|string
---@param ... string|number|integer
function journal:row(name, value, ...) end
---@param x eg.tensor
---@return eg.tensor x
function eg.parameter(x) end
---@param x eg.tensor
---@return eg.tensor x
function eg.requires_grad(x) end
---@param x eg.tensor
---@return number|integer|boolean
function eg.item(x) end
---@param x eg.tensor
---@param axis? integer
---@return integer|integer[]
function eg.size(x, axis) end
---@param x eg.tensor
---@return string
function eg.bytes(x) end
---@param x eg.tensor
---@return any
function eg.table(x) end
---@param x eg.tensor
---@param options? eg.print_options
---@return string
function eg.format(x, options) end
function eg.dataset_map(dataset, f, options) end
function eg.dataset_filter(dataset, f) end
function eg.dataset_from(f, count) end
function eg.shards_new(pattern, f, options) end
function eg.step_new(f, options) end
function eg.tape_open(options) end
function eg.nn.module(fields) end
function eg.nn.generate(next, prompts, options) end
function eg.nn.beam_search(next, prompts, options) end
function eg.models.transformer_next(net, ids, cache) end
function eg.models.gpt2_next(net, ids, cache) end
function eg.cache_get(cache, name) end

return eg
"""

OPERATORS = ["add", "sub", "mul", "div", "mod", "pow", "idiv"]
RESULTS = {"array": "eg.tensor[]", "tensor": "eg.tensor", "wanted": "eg.tensor", "stream": "string"}
COLLECTED = ["tensor", "module", "optim", "device"]  # never freed by hand
WORDS = {"end": "stop", "in": "inputs", "repeat": "times", "function": "f", "local": "here"}


def type_of(h, p):
    if p.type == "eg_tensor":
        return "eg.tensor[]" if p.stars == 2 else "eg.tensor|number"
    if p.type in h.handles:
        return f"eg.{p.type[3:]}" + ("[]" if p.stars == 2 else "") + ("|string" if p.type == "eg_device" else "")
    if p.type in h.structs or p.type in h.enums:
        return f"eg.{p.type[3:]}"
    if p.type == "bool":
        return "boolean"
    if p.type == "double":
        return "number[]" if p.stars or p.array else "number"
    if p.type in ("char", "void"):
        return "string[]" if p.stars == 2 else "string"
    if p.type == "function":
        return "fun(x: eg.tensor): eg.tensor"
    return "integer[]" if p.stars or p.array else "integer"


def optional(h, p):
    return p.type in h.enums or p.name in ("options", "bias", "b") or (p.type in h.structs and p.stars)


def name_of(name):
    return WORDS.get(name, name)


def describe(h, f, wrapper):
    lines = [f"---{line}" for line in f.text.split("\n")] if f.text else []
    for name, p in zip(wrapper.usage, wrapper.sources):
        mark = "?" if optional(h, p) or (f.name, p.name) in generate.DEFAULTS else ""
        lines.append(f"---@param {name_of(name)}{mark} {type_of(h, p)}")
    r = f.result
    if r.type == "eg_tensor":
        lines.append("---@return eg.tensor")
    elif r.type not in ("void", "eg_status"):
        lines.append(f"---@return {type_of(h, r)}")
    for what, name, _ in wrapper.results:
        kind = RESULTS.get(what, what)
        lines.append(f"---@return {kind}" + (f" {name.strip('_')}" if name.isidentifier() else ""))
    for at in wrapper.sizes():  # sizes one by one
        before = [f"{name_of(name)}: {type_of(h, p)}" for name, p in zip(wrapper.usage[:at - 1], wrapper.sources)]
        result = "eg.tensor" if r.type == "eg_tensor" else type_of(h, r)
        lines.append(f"---@overload fun({', '.join(before + ['...: any'])}): {result}")
    return lines


def main():
    include, path, depfile = sys.argv[1:]
    h = headers.read(include + "/egret")
    made = generate.wrap_all(h)
    names = {generate.lua_name(f) for f in h.functions.values()}
    out = [HEAD]
    for e in h.enums.values():
        out.append(f"---@alias eg.{e.name[3:]} " + "|".join(f'"{word}"' for _, word in generate.enum_words(e)))
    out += ["---@alias eg.shape integer|integer[]", "---@alias eg.axes integer|integer[]",
            "---@alias eg.parameters eg.module|eg.tensor[]"]
    for s in h.structs.values():
        if s.name in ("eg_shape", "eg_axes", "eg_parameters", "eg_tape", "eg_scope", "eg_module"):
            continue
        out.append(f"\n---@class eg.{s.name[3:]}")
        for g in generate.fields_of(s):
            wanted = g.stars == 2 and (g.type == "eg_tensor" or g.type in h.handles)
            kind = "boolean" if wanted else type_of(h, g)
            out.append(f"---@field {g.name}? {kind}")
    for handle in h.handles:
        kind = handle[3:]
        if handle in generate.OF_C:
            continue
        out.append(f"\n---@class eg.{kind}")
        if kind == "tensor":
            out += [f"---@operator {o}(eg.tensor|number): eg.tensor" for o in OPERATORS]
            out.append("---@operator unm: eg.tensor")
        if kind == "module":
            out.append("---@overload fun(x: eg.tensor, ...): eg.tensor")
        out.append(f"local {kind} = {{}}")
        if kind not in COLLECTED:
            out.append(f"function {kind}:free() end")
    for f, _, wrapper in made:
        lines = describe(h, f, wrapper)
        arguments = ", ".join(map(name_of, wrapper.usage))
        for space, name in generate.places(h, f, names):
            where = f"eg.{space}.{name}" if space else f"eg.{name}"
            if name in ("tensor", "tape", "step", "module") or name in WORDS:
                continue
            out.append("\n" + "\n".join([*lines, f"function {where}({arguments}) end"]))
        m = generate.method(h, f)
        if m and m[1] not in WORDS and "---@param" in "\n".join(lines):
            first = next(i for i, line in enumerate(lines) if line.startswith("---@param"))
            rest = ", ".join(map(name_of, wrapper.usage[1:]))
            out.append("\n" + "\n".join([*lines[:first], *lines[first + 1:], f"function {m[0]}:{m[1]}({rest}) end"]))
    for constant in h.constants + ["EG_END", "EG_MAX_DIMS"]:
        out.append(f"---@type integer\neg.{constant.removeprefix('EG_')} = nil")
    for _, word in generate.enum_words(h.enums["eg_dtype"]):
        out.append(f'---@type eg.dtype\neg.{word} = "{word}"')
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n" + BY_HAND)
    with open(depfile, "w") as file:
        file.write(f"{path}: {' '.join(map(str, h.paths))}\n")


if __name__ == "__main__":
    main()
