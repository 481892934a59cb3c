#!/usr/bin/env python3
"""Writes the wrappers of the public functions for Lua from the headers.

    generate.py INCLUDE_DIR OUT.c OUT.d     a function for Lua for every function of the headers

How C becomes Lua is said in lua/bind.h. A function this program can make nothing of has to be in HAND (written in
C in this folder) or in NOT_FOR_LUA; otherwise the build fails. So there is no list of functions to keep in step.
"""

import re
import sys

import headers

# What lua/*.c does by hand, and the C functions it stands for: a function, or a method of the type before the colon
# (x: a tensor). manual.txt says how each is called.
HAND = {
    "eg_dataset_map_with": "dataset:map", "eg_dataset_filter": "dataset:filter", "eg_dataset_from": "eg.data.from",
    "eg_shards_new_with": "eg.data.shards",
    "eg_dataset_first": "dataset", "eg_dataset_next": "dataset",
    "eg_image_folder_classes": "dataset:classes", "eg_photo_classes": "dataset:classes",
    "eg_tape_open_with": "eg.tape", "eg_tape_close": "tape:close", "eg_tape_watch": "tape:watch",
    "eg_tape_gradients_with": "tape:gradients",
    "eg_optim_minimize": "optim:minimize", "eg_optim_minimize_function": "optim:minimize",
    "eg_optim_backward": "optim:backward",
    "eg_scaler_minimize": "scaler:minimize",
    "eg_optim_step": "optim:step", "eg_clip_grad_norm_with": "eg.clip_grad_norm",
    "eg_custom": "eg.custom", "eg_checkpoint": "eg.checkpoint", "eg_gradcheck_with": "eg.gradcheck",
    "eg_step_new_with": "eg.step", "eg_step_run": "step:run", "eg_onnx_save_function_with": "eg.onnx_save_function",
    "eg_module_new": "eg.module", "eg_module_finish": "eg.module", "eg_member_child": "eg.module",
    "eg_member_parameter": "eg.module", "eg_member_buffer": "eg.module",
    "eg_autocast_begin": "eg.autocast", "eg_autocast_end": "eg.autocast", "eg_autocast": "eg.autocast",
    "eg_saver_add": "saver:add", "eg_journal_row_with": "journal:row", "eg_op_walk": "eg.op_walk",
    "eg_profile_totals_with": "eg.profile_totals",
    "eg_from": "eg.from_bytes", "eg_copy_out": "x:bytes", "eg_from_values": "eg.tensor", "eg_to_values": "x:table",
    "eg_format_with": "x:format", "eg_print_to": "x:format",
    "eg_use_stream": "eg.use_stream", "eg_device_describe": "device:describe",
    "eg_cache_get": "cache:get", "eg_generate_with": "eg.generate", "eg_beam_search_with": "eg.beam_search",
    "eg_transformer_next": "eg.transformer_next", "eg_gpt2_next": "eg.gpt2_next",
    "eg_json_parse": "eg.json.decode", "eg_json_load": "eg.json.load", "eg_json_encode_with": "eg.json.encode",
    "eg_json_save_with": "eg.json.save",
    "eg_size": "x:size",
    "eg_item": "x:item", "eg_item_int": "x:item", "eg_parameter": "x:requires_grad",
}

# What has no meaning there: scopes and owners are the collector's, memory is not to be had by address, and failures
# are errors.
NOT_FOR_LUA = {
    "eg_scope_push", "eg_scope_pop", "eg_scope_pop_n", "eg_scope_adopt", "eg_keep", "eg_release", "eg_wrap", "eg_data",
    "eg_data_mut", "eg_device_data", "eg_device_data_mut", "eg_stream_handle", "eg_last_error", "eg_clear_error",
    "eg_error_print", "eg_status_words", "eg_dataset_status", "eg_dtype_size", "eg_dtype_name", "eg_fail", "eg_failf",
    "eg_dataset_width", "eg_optim_count", "eg_thread_end",
    "eg_log_to",  # told in any thread; eg.debug says the same on stderr
    "eg_saver_number", "eg_saver_real",  # a tensor of one number is a part that can be changed: saver:tensor
    "eg_follow", "eg_onnx_follow",
    # trees of JSON, which are tables
    "eg_json_free", "eg_json_kind_of", "eg_json_count", "eg_json_at", "eg_json_key", "eg_json_get", "eg_json_find",
    "eg_json_text", "eg_json_number", "eg_json_is_integer", "eg_json_integer", "eg_json_bool", "eg_json_object",
    "eg_json_array", "eg_json_add_object", "eg_json_add_array", "eg_json_add_text", "eg_json_add_number",
    "eg_json_add_integer", "eg_json_add_bool", "eg_json_add_null",
    # ranks that are threads, and what goes on meanwhile: both are C's
    "eg_comm_threads_new", "eg_comm_threads_new_with", "eg_comm_other", "eg_comm_all_reduce_start",
    "eg_comm_broadcast_start", "eg_comm_all_gather_start", "eg_comm_reduce_scatter_start", "eg_comm_all_to_all_start",
    "eg_comm_send_start", "eg_comm_receive_start", "eg_work_done", "eg_work_wait",
    # operators of one's own, which are in C
    "eg_onnx_input_count", "eg_onnx_output_count", "eg_onnx_input", "eg_onnx_give", "eg_onnx_int", "eg_onnx_float",
    "eg_onnx_text", "eg_onnx_ints", "eg_onnx_floats", "eg_onnx_tensor",
}

# Handles that Lua never has.
OF_C = {"eg_members", "eg_onnx_call", "eg_json", "eg_work"}

# How many results an array of results has.
RESULTS_OF = {
    "eg_meshgrid": "n", "eg_split": "n", "eg_chunk": "n", "eg_unbind": "x ? eg_size(x, axis) : 0",
    "eg_example_read": "n", "eg_sequence_example_read": "nc + nl",
    "eg_onnx_forward": "m ? eg_onnx_outputs(m) : 0",
}
# How many numbers an array has that comes without its count.
NUMBERS_OF = {
    ("eg_image_normalise", "mean"): "eg_size(x, -3)", ("eg_image_normalise", "std"): "eg_size(x, -3)",
    ("eg_image_random_box", "scale"): "2", ("eg_image_random_box", "ratio"): "2",
    ("eg_as_strided", "strides"): "shape.ndim", ("eg_bucket_options", "batches"): "n + 1", ("eg_pipeline_options", "first"): "count",
}
# What numbers and booleans are that are left out, as Lua writes it: PyTorch's defaults where it has some.
DEFAULTS = {
    **{(f, "axis"): "-1" for f in ("eg_softmax", "eg_log_softmax", "eg_glu", "eg_topk", "eg_sort", "eg_argsort",
                                   "eg_kthvalue", "eg_diff")},
    **{(f, "axis"): "0" for f in ("eg_concat", "eg_stack", "eg_split", "eg_chunk", "eg_unbind")},
    **{(f, "k"): "0" for f in ("eg_tril", "eg_triu", "eg_tri", "eg_diag", "eg_diag_embed", "eg_eye")},
    ("eg_flatten", "first"): "0", ("eg_flatten", "last"): "-1", ("eg_topk", "largest"): "true",
    ("eg_diagonal", "offset"): "0", ("eg_diagonal", "axis0"): "0", ("eg_diagonal", "axis1"): "1",
    ("eg_dropout", "p"): "0.5", ("eg_dropout_new", "p"): "0.5",
    ("eg_leaky_relu", "slope"): "0.01", ("eg_leaky_relu_new", "slope"): "0.01",
    ("eg_elu", "alpha"): "1", ("eg_celu", "alpha"): "1",
    ("eg_hardshrink", "lambda"): "0.5", ("eg_softshrink", "lambda"): "0.5",
    ("eg_clamp", "low"): "-math.huge", ("eg_clamp", "high"): "math.huge",
    ("eg_uniform", "low"): "0", ("eg_uniform", "high"): "1",
    **{(f, name): value for f in ("eg_normal", "eg_truncated_normal") for name, value in (("mean", "0"), ("std", "1"))},
    ("eg_arange", "step"): "1", ("eg_arange_int", "step"): "1", ("eg_eye", "cols"): "rows", ("eg_slice", "step"): "1",
    ("eg_bincount", "least"): "0", ("eg_ctc_greedy", "blank"): "0", ("eg_pre_emphasis", "k"): "0.97",
    ("eg_transformer_encoder_layer_new_with", "hidden"): "2048",
    ("eg_transformer_decoder_layer_new_with", "hidden"): "2048",
}
# Fields that say nothing without another one, which they bring along.
IMPLIED = {("eg_cross_entropy_options", "ignore_index"): "ignore", ("eg_reduce_options", "initial"): "has_initial"}
# Functions of start and stop of which one number is the stop.
RANGES = {"eg_arange", "eg_arange_int"}
# Parts that must outlive who is given them.
KEEPS_PARTS = "eg_saver"

NUMBERS = {"double": "number", "int64_t": "integer", "int": "int", "uint64_t": "unsigned", "unsigned": "int",
           "size_t": "integer", "bool": "boolean", "uint32_t": "integer"}


def in_c(value):
    """A default as C writes it."""
    return {"-math.huge": "-(double)INFINITY", "math.huge": "(double)INFINITY"}.get(value, value)


class CannotSay(Exception):
    pass


def enum_words(enum):
    """EG_RATE_STEP is "step": in lower case without what all of them begin with."""
    values = [v for v in enum.values if not v.endswith("_") and not v.endswith("_COUNT")]
    parts = [v.split("_") for v in values]
    common = 0
    while all(len(p) > common + 1 for p in parts) and len({p[common] for p in parts}) == 1:
        common += 1
    return [(v, "_".join(p[common:]).lower()) for v, p in zip(values, parts)]


class Wrapper:
    """The C function for Lua of one function."""

    def __init__(self, h, f):
        self.h, self.f = h, f
        self.usage = []      # names of Lua's arguments
        self.sources = []    # and the parameters of C they come from
        self.options = []    # code that reads options, and may raise
        self.checks = []     # then other arguments
        self.arguments = []  # of the call, in C
        self.results = []    # further results: (kind, C name)
        self.consumed = []   # handles that are taken over
        self.kept = []       # handles that must live as long as the first
        self.late = []       # arrays whose length hangs on others
        self.tensors = []    # names of tensor arguments
        self.blocking = False

    # -- arguments -----------------------------------------------------------------------------

    def argument(self, name):
        self.usage.append(name)
        self.sources.append(next(p for p in self.f.parameters if p.name == name))
        return len(self.usage)

    def take(self, i):
        """Reads parameter i; returns how many C parameters that were."""
        h, f = self.h, self.f
        p = f.parameters[i]
        after = f.parameters[i + 1] if i + 1 < len(f.parameters) else None
        counted = after and after.name in ("n", "nc", "nl", "count") and not after.stars
        name = p.name
        if p.type == "eg_tensor" and p.stars == 2:
            if p.const or "const *" in p.code:
                at = self.argument(name)
                self.checks.append(f"int {after.name};")
                self.checks.append(f"eg_tensor *const *{name} = eg__lua_tensors(L, {at}, &{after.name});")
                self.arguments += [name, after.name]
                return 2
            return self.tensor_result(p)
        if p.type == "eg_tensor" and p.stars == 1:
            at = self.argument(name)
            self.checks.append(f"eg_tensor *{name} = eg__lua_argument(L, {at});")
            self.arguments.append(name)
            self.tensors.append(name)
        elif p.type in h.handles and p.stars == 2:
            at = self.argument(name)
            kind = p.type[3:]
            self.checks.append(f"int {after.name};")
            read = f"eg__lua_handles(L, {at}, &eg__lua_type_{kind}, &{after.name})"
            self.checks.append(f"{p.type} *const *{name} = ({p.type} *const *){read};")
            self.arguments += [name, after.name]
            self.consumed.append(at)
            return 2
        elif p.type in h.handles and p.stars == 1:
            at = self.argument(name)
            kind = p.type[3:]
            takes = not p.const and f.result.type == p.type and f.result.stars and (
                p.type == "eg_dataset" or (p.type == "eg_module" and "_new" in f.name))
            reader = "eg__lua_handle_to_take" if takes else "eg__lua_handle"
            self.checks.append(f"{p.type} *{name} = {reader}(L, {at}, &eg__lua_type_{kind});")
            self.arguments.append(name)
            if takes:
                self.consumed.append(at)
            elif at > 1 and f.parameters[0].type == KEEPS_PARTS:
                self.kept.append(at)
            self.blocking |= p.type == "eg_dataset"
        elif p.type == "bool" and name == "training":
            at = self.argument(name)
            self.checks.append(f'bool {name} = eg__lua_decision(L, {at}, "{name}");')
            self.arguments.append(name)
        elif p.type in NUMBERS and p.stars == 0 and not p.array:
            at = self.argument(name)
            read = f"eg__lua_{NUMBERS[p.type]}(L, {at})"
            if (f.name, name) in DEFAULTS:
                read = f"lua_isnil(L, {at}) ? {in_c(DEFAULTS[f.name, name])} : {read}"
            self.checks.append(f"{p.type} {name} = {read};")
            self.arguments.append(name)
        elif p.type == "char" and p.stars == 2 and p.const and counted:
            at = self.argument(name)
            self.checks.append(f"int64_t {after.name};")
            self.checks.append(f"const char *const *{name} = eg__lua_strings(L, {at}, &{after.name});")
            self.arguments += [name, f"({after.type}){after.name}"]
            return 2
        elif p.type == "char" and p.stars == 1 and p.const:
            at = self.argument(name)
            if after and after.type == "size_t" and after.name == "bytes":
                self.checks.append("size_t bytes;")
                self.checks.append(f"const char *{name} = luaL_checklstring(L, {at}, &bytes);")
                self.arguments += [name, "bytes"]
                return 2
            self.checks.append(f"const char *{name} = eg__lua_string(L, {at});")
            self.arguments.append(name)
        elif p.type == "void" and p.const and after and after.type == "size_t":
            at = self.argument(name)
            self.checks.append(f"size_t {after.name};")
            self.checks.append(f"const void *{name} = eg__lua_bytes(L, {at}, &{after.name});")
            self.arguments += [name, after.name]
            return 2
        elif p.type in h.enums and not p.stars:
            at = self.argument(name)
            self.checks.append(f"{p.type} {name} = ({p.type})eg__lua_enum(L, {at}, &enum_{p.type});")
            self.arguments.append(name)
        elif p.type in ("eg_shape", "eg_axes") and not p.stars:
            at = self.argument(name)
            self.checks.append(f"{p.type} {name} = eg__lua_{p.type[3:]}(L, {at});")
            self.arguments.append(name)
        elif p.type == "eg_parameters":
            at = self.argument(name)
            self.checks.append(f"eg_parameters {name} = eg__lua_parameters(L, {at});")
            self.arguments.append(name)
        elif p.type in h.structs and p.stars == 1 and p.const and counted:
            at = self.argument(name)
            self.checks.append(f"int {after.name};")
            self.checks.append(f"const {p.type} *{name} = eg__lua_records(L, {at}, &record_{p.type}, &{after.name});")
            self.arguments += [name, after.name]
            return 2
        elif p.type in h.structs and (p.stars == 0 or p.const):
            at = self.argument(name)
            self.options.append(f"{p.type} {name} = {{0}};")
            given = f"eg__lua_record(L, {at}, &record_{p.type}, &{name})"
            if p.stars and not h.structs[p.type].is_options:
                self.options.append(f"const {p.type} *{name}_ = {given} ? &{name} : NULL;")
                self.arguments.append(f"{name}_")
            else:
                self.options.append(given + ";")
                self.arguments.append("&" * p.stars + name)
            for g in h.structs[p.type].fields:
                if (p.type, g.name) in IMPLIED:
                    flag = f"{name}.{IMPLIED[p.type, g.name]}"
                    self.options.append(f'{flag} = {flag} || eg__lua_says(L, {at}, "{g.name}");')
                if g.type == "eg_tensor" and g.stars == 2:
                    self.options.append(f"eg_tensor *{g.name}_ = NULL;")
                    self.options.append(f'{name}.{g.name} = eg__lua_wants(L, {at}, "{g.name}") ? &{g.name}_ : NULL;')
                    self.results.append(("wanted", f"{g.name}_", f"{name}.{g.name}"))
                elif g.type in h.handles and g.stars == 2:
                    self.options.append(f"{g.type} *{g.name}_ = NULL;")
                    self.options.append(f'{name}.{g.name} = eg__lua_wants(L, {at}, "{g.name}") ? &{g.name}_ : NULL;')
                    self.results.append((f"eg.{g.type[3:]}", f"{g.name}_", f"{name}.{g.name}"))
                elif g.type == "int64_t" and g.stars:
                    self.late.append(f'eg__lua_count_in(L, {at}, "{g.name}", {NUMBERS_OF[p.type, g.name]});')
        elif p.type in ("int64_t", "double") and p.stars == 1 and p.const:
            at = self.argument(name)
            reader = "integers" if p.type == "int64_t" else "numbers"
            if counted and (f.name, name) not in NUMBERS_OF:
                self.checks.append(f"int {after.name};")
                self.checks.append(f"const {p.type} *{name} = eg__lua_{reader}(L, {at}, &{after.name}, -1);")
                self.arguments += [name, after.name]
                return 2
            count = NUMBERS_OF[f.name, name]
            self.late.append(f"const {p.type} *{name} = eg__lua_{reader}(L, {at}, NULL, {count});")
            self.arguments.append(name)
        elif p.type in ("int64_t", "double") and (p.stars == 1 or p.array):
            n = int(p.array or 1)
            self.checks.append(f"{p.type} {name}[{n}] = {{0}};")
            self.arguments.append(name)
            for k in range(n):
                self.results.append((NUMBERS[p.type], f"{name}[{k}]", ""))
        elif p.type == "FILE":
            self.results.append(("stream", name, ""))
            self.arguments.append(name)
        elif p.type == "function" and p.code.startswith("eg_tensor *(*function)(eg_tensor *x"):
            at = self.argument(name)
            self.checks.append(f"eg_tensor *(*{name})(eg_tensor *) = eg__lua_unary(L, {at});")
            self.arguments.append(name)
        else:
            raise CannotSay(f"parameter {p.code or p.type}")
        return 1

    def tensor_result(self, p):
        if p.name == "out":
            self.late.append(f"int64_t count = {RESULTS_OF[self.f.name]};")
            self.late.append("eg_tensor **out = eg__lua_room(L, count);")
            self.results.append(("array", "out", ""))
        else:
            self.checks.append(f"eg_tensor *{p.name} = NULL;")
            self.results.append(("tensor", p.name, ""))
        self.arguments.append(p.name if p.name == "out" else f"&{p.name}")
        return 1

    # -- the whole ----------------------------------------------------------------------------

    def whole(self, twin):
        """When the form for integers is meant: every number it has as one is; what only reads asks the tensor."""
        places = [i for i, (p, q) in enumerate(zip(self.f.parameters, twin.parameters), 1) if p.type != q.type]
        return " && ".join(f"lua_isinteger(L, {i})" for i in places) or "eg__lua_is_whole(L, 1)"

    def code(self, scalar, twin):
        f = self.f
        i = 0
        while i < len(f.parameters):
            i += self.take(i)
        call = f"{f.name}({', '.join(self.arguments)})"
        lines = [f"EG__LUA_SIZES({at})" for at in self.sizes()] + [f"EG__LUA_BEGIN({len(self.usage)})"]
        if f.name in RANGES:
            lines += ["eg__lua_range_to(L);"]
        if scalar:
            lines += [f"if (lua_type(L, 2) == LUA_TNUMBER) {{ return w_{scalar}(L); }}"]
        if twin:
            lines += [f"if ({self.whole(twin)}) {{ return w_{lua_name(twin)}(L); }}"]
        lines += self.options + self.checks + self.late
        lines += self.body(call)
        text = "\n".join("    " + line for line in lines)
        return f"static int w_{lua_name(f)}(lua_State *L)\n{{\n{text}\n}}\n"

    def sizes(self):
        """The place of sizes or axes that may come one by one: those of no other, and no number follows."""
        places = [i for i, p in enumerate(self.sources) if p.type in ("eg_shape", "eg_axes")]
        if len(places) != 1:
            return []
        after = self.sources[places[0] + 1:places[0] + 2]
        words = all(p.type in self.h.enums or p.type in self.h.structs or p.type == "char" for p in after)
        return [places[0] + 1] if words else []

    def body(self, call):
        f, h = self.f, self.h
        r = f.result
        kind = r.type + "*" * r.stars
        addresses = [where for what, _, where in self.results if what == "wanted"]
        wanted = addresses and f"((eg_tensor **[]){{{', '.join(addresses)}}}), {len(addresses)}"
        if self.results and self.results[0][0] == "stream":
            return [f"EG__LUA_STREAM({self.results[0][1]}, {call});"]
        if kind == "eg_tensor*":
            if f.name.endswith("_") and self.tensors:
                return [f"EG__LUA_IN_PLACE({call});"]
            if self.results:
                if wanted:
                    return [f"EG__LUA_TENSOR_AND({call}, {wanted});"]
                (what, name, _), = self.results
                return [f"EG__LUA_TENSOR_THEN({call}, lua_push{what}(L, {name}));"]
            return [f"EG__LUA_TENSOR({call});"]
        if kind == "eg_status":
            return self.status(call)
        if r.stars == 1 and r.type in h.handles:
            type_ = f"eg__lua_type_{r.type[3:]}"
            if self.consumed:
                return [f"EG__LUA_TAKING({type_}, {call}, {self.consumed[0]}, {self.consumed[-1]});"]
            owned = (r.type in ("eg_dataset", "eg_tensors") or "_new" in f.name or
                     f.name.removesuffix("_with").endswith(("_load", "_copy", "_train", "_parse")))
            macro = "EG__LUA_OWNED" if owned else "EG__LUA_BORROWED"
            return [f"{macro}({type_}, {call});"]
        if r.type == "eg_parameters":
            return ["eg_clear_error();", f"return eg__lua_push_parameters(L, {call});"]
        if r.type in h.structs and not r.stars:
            tensors = [g.name for g in h.structs[r.type].fields if g.type == "eg_tensor" and g.stars == 1]
            if r.type == "eg_shape":
                return [f"return eg__lua_push_shape(L, {call});"]
            made = f"{r.type}, record_{r.type}, {call}, {len(tensors)}"
            return [f"EG__LUA_RECORD_AND({made}, {wanted});" if wanted else f"EG__LUA_RECORD({made});"]
        if kind == "void":
            return [f"{call};", "return 0;"]
        if r.type in h.enums and not r.stars:
            return ["eg_clear_error();", f"lua_Integer value = (lua_Integer){call};",
                    f"return eg__lua_push_enum(L, &enum_{r.type}, value);"]
        push = {"double": "number", "int64_t": "integer", "int": "integer", "size_t": "integer", "bool": "boolean",
                "char*": "string"}.get(kind)
        if not push:
            raise CannotSay(f"result {kind}")
        type_ = {"char*": "const char *"}.get(kind, r.type + " ")
        lines = ["eg_clear_error();", f"{type_}value = {call};", "EG__LUA_CHECK();", f"lua_push{push}(L, value);"]
        for what, name, _ in self.results:
            lines.append(f"lua_push{what}(L, {name});")
        return lines + [f"return {1 + len(self.results)};"]

    def status(self, call):
        tensors = [name for what, name, _ in self.results if what == "tensor"]
        if tensors:
            given = ", ".join(f"&{t}" for t in tensors)
            return [f"EG__LUA_TENSORS({call}, ((eg_tensor **[]){{{given}}}), {len(tensors)});"]
        for what, name, wanted in self.results:
            if what.startswith("eg."):
                return [f"EG__LUA_STATUS_AND({call}, eg__lua_type_{what[3:]}, {name}, {wanted});"]
        if any(what == "array" for what, _, _ in self.results):
            return [f"EG__LUA_ARRAY({call}, out, count);"]
        lines = ["eg_status st;", f"EG__LUA_LET_OTHERS(st = {call};)" if self.blocking else f"st = {call};",
                 "EG__LUA_STATUS(st)"]
        lines += [f"eg__lua_keep_part(L, 1, {at});" for at in self.kept]
        if self.results:
            lines += [f"lua_push{what}(L, {name});" for what, name, _ in self.results]
            return lines + [f"return {len(self.results)};"]
        if self.f.parameters and self.f.parameters[0].type in self.h.handles and self.f.parameters[0].stars == 1:
            return lines + ["lua_pushvalue(L, 1);", "return 1;"]
        return lines + ["return 0;"]


# ---- names --------------------------------------------------------------------------------------------


# Lua's own words cannot be names.
RESERVED = {"repeat": "repeated"}


def lua_name(f):
    name = f.name.removeprefix("eg_")
    return name.removesuffix("_with")


def method(h, f):
    """(type, name) under which a function is a method, or None."""
    if lua_name(f).endswith("_new"):
        return None
    p = next((p for p in f.parameters if p.type != "FILE"), None)
    if not p or p.stars != 1:
        return None
    if p.type == "eg_tensor":
        name = lua_name(f)
        return "tensor", RESERVED.get(name, name).removesuffix("_of")
    if p.type in h.handles and p.type != "eg_tensor":
        kind = p.type[3:]
        name = lua_name(f).removeprefix(kind + "_")
        return kind, RESERVED.get(name, name).removesuffix("_of")
    return None


def places(h, f, names):
    """The names a function has: (table, name), tables "", "nn", "optim", "data", "models"."""
    name = lua_name(f)
    found = [("", name)]
    space = "nn" if f.header.startswith("nn/") else "optim" if f.header == "optim.h" else \
        "data" if f.header.startswith("data") else "models" if f.header.startswith("models/") else ""
    short = name.removesuffix("_new")
    if short != name and space == "models":  # words like "resnet" stay the program's
        found.append((space, short))
    elif short != name:
        if space:
            found.append((space, short))
        if short not in names:
            found.append(("", short))
    if f.result.type == "eg_dataset" and name.startswith("dataset_"):
        short = name.removeprefix("dataset_")
        found.append(("data", RESERVED.get(short, short)))
    return found


# ---- descriptions of structs and enums --------------------------------------------------------------------


# Structs that are no tables in Lua.
PLAIN = {"eg_module_kind", "eg_custom_op", "eg_saver_part", "eg_field", "eg_shape", "eg_axes", "eg_scope", "eg_tape",
         "eg_parameters", "eg_autocast_block", "eg_module"}

FIELD_KINDS = {
    "double": "DOUBLE", "bool": "BOOL", "int64_t": "I64", "int": "INT", "uint64_t": "U64", "unsigned": "UNSIGNED",
    "char": "CHAR", "eg_shape": "SHAPE", "eg_axes": "AXES", "size_t": "SKIP", "uint32_t": "SKIP",
}


def zeros(s):
    """Numbers whose 0 stands for another default: one who says 0 in Lua means 0, which is EG_ZERO."""
    reals = {g.name for g in s.fields if g.type == "double" and not g.array}
    return {name for names, comment in headers.members(s) for name in names
            if "EG_ZERO" in comment or (name in reals and re.search(r"\b0: -?[\d.]", comment))}


def fields_of(s):
    """The members Lua sees: a struct's size and how many strings a list has are the list's own business."""
    counts = {f"{g.name}_count" for g in s.fields if g.type == "char" and g.stars == 2}
    return [g for g in s.fields if g.name not in counts and (g.name, g.type) != ("size", "size_t")]


def field_row(h, s, g):
    counts = [c for c in g.array.split(",") if c] if g.array else []
    count, inner = (counts + ["1", "1"])[:2] if len(counts) == 2 else ((counts or ["0"])[0], "1")
    of = "NULL"
    if g.type == "function":
        kind = "UNARY" if re.fullmatch(r"eg_tensor \*\(\*\w+\)\(eg_tensor \*x\)", g.code) else "SKIP"
    elif g.type == "eg_tensor":
        kind = {1: "TENSOR", 2: "WANTED"}[g.stars]
    elif g.type == "char" and g.stars == 1:
        kind = "STRING"
    elif g.type == "char" and counts:
        kind, count = "TEXT", count
    elif g.type == "char" and g.stars == 2:
        kind, of = "STRINGS", f"(const void *)offsetof({s.name}, {g.name}_count)"
    elif g.type in h.enums and not g.stars:
        kind, of = "ENUM", f"&enum_{g.type}"
    elif g.type in h.handles and g.stars == 2:
        kind = "WANTED"
    elif g.type in h.handles and g.stars == 1:
        kind, of = "HANDLE", f"&eg__lua_type_{g.type[3:]}"
    elif g.type == "int64_t" and g.stars == 1:
        kind = "INTEGERS"
    elif g.type in FIELD_KINDS and not g.stars:
        kind = FIELD_KINDS[g.type]
    elif g.type in h.structs and not g.stars:
        kind, of = "RECORD", f"&record_{g.type}"
    elif g.type in ("void", "eg_onnx_op", "eg_decode_watch"):
        kind = "SKIP"
    else:
        raise CannotSay(f"{s.name}.{g.name}: {g.type}")
    zero = str(g.name in zeros(s)).lower()
    return f'    {{"{g.name}", EG__LUA_{kind}, {count}, {inner}, offsetof({s.name}, {g.name}), {of}, {zero}}},'


def describe(h, out, code):
    """Tables of the enums and structs that the code names, and of those that these hold."""
    tables = []  # (what it is called, its text), those needed by others first
    for e in h.enums.values():
        words = enum_words(e)
        rows = "".join(f'    {{"{word}", {value}}},\n' for value, word in words)
        tables.append((f"enum_{e.name}", f"static const eg__lua_word words_{e.name}[] = {{\n{rows}}};\n"
                       f"static const eg__lua_enumeration enum_{e.name} = "
                       f'{{"{e.name}", words_{e.name}, {len(words)}}};'))
    done = set()

    def visit(s):
        if s.name in done or s.name in PLAIN:
            return
        done.add(s.name)
        for g in s.fields:
            if g.type in h.structs and not g.stars:
                visit(h.structs[g.type])
        rows = "\n".join(field_row(h, s, g) for g in fields_of(s))
        sized = "true" if s.is_options else "false"
        tables.append((f"record_{s.name}",
                       f"static const eg__lua_field fields_{s.name}[] = {{\n{rows}\n    {{0}}\n}};\n"
                       f'static const eg__lua_layout record_{s.name} = {{"{s.name}", fields_{s.name}, '
                       f"{rows.count(chr(10)) + bool(rows)}, sizeof({s.name}), {sized}}};"))

    for s in h.structs.values():
        visit(s)
    needed = []
    for name, text in reversed(tables):
        if re.search(rf"\b{name}\b", code):
            needed.append(text)
            code += text
    out += reversed(needed)


# ---- what is written ----------------------------------------------------------------------------------------


def freeing(h):
    rows = []
    for handle in h.handles:
        kind = handle[3:]
        if kind == "tensor" or handle in OF_C:
            continue
        f = h.functions.get(f"{handle}_free")
        if f:
            rows.append(f"static void free_{kind}(void *p)\n{{\n    {f.name}(p);\n}}")
        rows.append(f'const eg__lua_type eg__lua_type_{kind} = {{"{kind}", {"free_" + kind if f else "NULL"}}};')
    return rows


def int_form(h, f):
    """The function that takes integers where this one takes doubles, or None."""
    name, in_place = f.name.removesuffix("_"), "_" * f.name.endswith("_")
    forms = (stem + "_int" + in_place for stem in (name, name.removesuffix("_scalar")))
    return next((h.functions[form] for form in forms if form in h.functions), None)


def wrap_all(h):
    """[(function, code)] for all that are not written by hand."""
    names = {lua_name(f) for f in h.functions.values()}
    done, problems = [], []
    forms = [("_int", "_int_"), ("_scalar", "_scalar_")]  # what calls another comes behind it

    def place(f):
        return next((i for i, endings in enumerate(forms) if f.name.endswith(endings)), len(forms))

    for f in sorted(h.functions.values(), key=place):
        if f.name in HAND or f.name in NOT_FOR_LUA or f.name.endswith("_free"):
            continue
        name = lua_name(f)
        scalar = name[:-1] + "_scalar_" if name.endswith("_") else name + "_scalar"
        wrapper = Wrapper(h, f)
        try:
            scalar = scalar if scalar in names else ""
            done.append((f, wrapper.code(scalar, None if scalar else int_form(h, f)), wrapper))
        except (CannotSay, KeyError) as why:
            problems.append(f"{f.name}: {why}")
    if problems:
        sys.exit("generate.py: neither made by rule nor in HAND or NOT_FOR_LUA:\n  " + "\n  ".join(problems))
    return done


def wrappers(h):
    out = ["/* Made by lua/generate.py from the headers. */", "#define _GNU_SOURCE", "#include <math.h>", "#include <stddef.h>",
           "#include <egret/models.h>", "#include <egret/onnx.h>", '#include "lua/bind.h"', ""]
    out += freeing(h)
    made = wrap_all(h)
    shared = {"eg_gradients_options": "gradients", "eg_gradcheck_options": "gradcheck", "eg_map_options": "map",
              "eg_shards_options": "shards",
              "eg_step_options": "step", "eg_onnx_save_options": "onnx_save", "eg_clip_options": "clip", "eg_tape_options": "tape",
              "eg_print_options": "print", "eg_decode_options": "decode", "eg_decoded": "decoded",
              "eg_profile_total": "profile_total", "eg_op_info": "op_info", "eg_device_info": "device_info",
              "eg_json_options": "json"}
    shared = [f"const eg__lua_layout *const eg__lua_layout_{name} = &record_{s};" for s, name in shared.items()]
    shared.append("const eg__lua_enumeration *const eg__lua_dtypes = &enum_eg_dtype;")
    describe(h, out, "\n".join([code for _, code, _ in made] + shared))
    names = {lua_name(f) for f in h.functions.values()}
    out += [code for _, code, _ in made]
    rows = [f'    {{"{space}", "{name}", w_{lua_name(f)}}},' for f, _, _ in made for space, name in places(h, f, names)]
    out.append("const eg__lua_place eg__lua_functions[] = {\n" + "\n".join(rows) + "\n    {0}\n};")
    rows = [f'    {{"{m[0]}", "{m[1]}", w_{lua_name(f)}}},' for f, _, _ in made if (m := method(h, f))]
    out.append("const eg__lua_place eg__lua_methods[] = {\n" + "\n".join(rows) + "\n    {0}\n};")
    rows = [f"    {{w_{lua_name(f)}, {f.name}}}," for f, _, _ in made
            if f.result.type == "eg_tensor" and [(p.type, p.stars) for p in f.parameters] == [("eg_tensor", 1)]
            and not f.parameters[0].const and not f.name.endswith("_")]
    out.append("const eg__lua_function eg__lua_unaries[] = {\n" + "\n".join(rows) + "\n    {0}\n};")
    rows = [f'    {{"{c.removeprefix("EG_")}", {c}}},' for c in h.constants + ["EG_END", "EG_MAX_DIMS"]]
    out.append("const eg__lua_word eg__lua_constants[] = {\n" + "\n".join(rows) + "\n    {0}\n};")
    rows = [f"    &eg__lua_type_{t[3:]}," for t in h.handles if t != "eg_tensor" and t not in OF_C]
    out.append("const eg__lua_type *const eg__lua_types[] = {\n" + "\n".join(rows) + "\n    NULL\n};")
    out += shared
    return "\n".join(out) + "\n"


def c_string(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return "\n        ".join(f'"{line}\\n"' for line in escaped.split("\n")) or '""'


def main():
    include, path, depfile = sys.argv[1:]
    h = headers.read(include + "/egret")
    with open(path, "w") as f:
        f.write(wrappers(h))
    with open(depfile, "w") as f:
        f.write(f"{path}: {' '.join(map(str, h.paths))}\n")


if __name__ == "__main__":
    main()
