#!/usr/bin/env python3
"""Writes functions of the C API that go through Lua: the arguments become Lua's, eg.<name> is called, its results
come back. The sweep of the op table, compiled with these names in place of the library's, so tries the binding.

    replay.py INCLUDE_DIR OUT.h OUT.c
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lua"))
import generate  # noqa: E402
import headers   # noqa: E402


class Unsaid(Exception):
    pass


def arguments(h, f):
    """Code that pushes the arguments, code that takes results out, and how many results there are beside the first."""
    push, take, results, skip = [], [], 0, False
    status = f.result.type == "eg_status"
    for i, p in enumerate(f.parameters):
        if skip:
            skip = False
            continue
        after = f.parameters[i + 1] if i + 1 < len(f.parameters) else None
        if p.type == "eg_tensor" and p.stars == 1:
            push.append(f"egt_push_tensor({p.name});")
        elif p.type == "eg_tensor" and p.stars == 2 and "const *" in p.code:
            push.append(f"egt_push_tensors({p.name}, {after.name});")
            skip = True
        elif p.type == "eg_tensor" and p.stars == 2 and p.name == "out":
            count = generate.RESULTS_OF[f.name]
            take.append(f"egt_take_list(out, {count});")
            results += 1
        elif p.type == "eg_tensor" and p.stars == 2:
            results += 1
            take.append(f"egt_take({p.name}, {results});")
        elif p.type in generate.NUMBERS and not p.stars and not p.array:
            kind = "number" if p.type == "double" else "boolean" if p.type == "bool" else "integer"
            push.append(f"egt_push_{kind}({p.name});")
        elif p.type in h.enums and not p.stars:
            push.append(f"egt_push_enum(&enum_{p.type}, (int){p.name});")
        elif p.type in ("eg_shape", "eg_axes") and not p.stars:
            push.append(f"egt_push_{p.type[3:]}({p.name});")
        elif p.type == "char" and p.stars == 1 and p.const:
            push.append(f"egt_push_string({p.name});")
        elif p.type == "int64_t" and p.stars == 1 and p.const:
            count = generate.NUMBERS_OF.get((f.name, p.name)) or after.name
            skip = (f.name, p.name) not in generate.NUMBERS_OF
            push.append(f"egt_push_integers({p.name}, {count});")
        elif p.type in h.structs:
            push.append(f"egt_push_record(&record_{p.type}, {'' if p.stars else '&'}{p.name});")
            for g in h.structs[p.type].fields:
                if g.type == "eg_tensor" and g.stars == 2:
                    take.append(f"if ({p.name} && {p.name}->{g.name}) {{ egt_take({p.name}->{g.name}, 2); }}")
                    results += 1
        else:
            raise Unsaid(p.code)
    return push, take, results + (not status)


def function(h, f):
    push, take, results = arguments(h, f)
    kind = f.result.type + "*" * f.result.stars
    call = [f'egt_begin("{generate.lua_name(f)}");', *push]
    if f.name.endswith("_"):
        call += [f"if (!egt_call(1)) {{ return NULL; }}", "egt_end();", f"return {f.parameters[0].name};"]
    elif kind == "eg_tensor*":
        call += [f"if (!egt_call({results})) {{ return NULL; }}", "eg_tensor *y_;", "egt_take(&y_, 1);", *take, "egt_end();",
                 "return y_;"]
    elif kind == "eg_status":
        call += [f"if (!egt_call({results})) {{ {clear(f)}return eg_last_error()->code; }}", *take, "egt_end();",
                 "return EG_OK;"]
    elif f.result.type in h.structs and not f.result.stars:
        fields = [g.name for g in h.structs[f.result.type].fields]
        call += [f"{f.result.type} y_ = {{0}};", "if (!egt_call(1)) { return y_; }",
                 *[f'egt_take_field(&y_.{name}, "{name}");' for name in fields], "egt_end();", "return y_;"]
    else:
        raise Unsaid(kind)
    signature = f.prototype.rstrip(";").replace(f.name + "(", f"lua_{f.name}(", 1)
    return signature, signature + "\n{\n" + "\n".join("    " + line for line in call) + "\n}\n"


def clear(f):
    """After a failure results are NULL."""
    code = ""
    for p in f.parameters:
        if p.type == "eg_tensor" and p.stars == 2 and "const *" not in p.code:
            code += f"for (int64_t k_ = 0; k_ < ({generate.RESULTS_OF[f.name]}); k_++) {{ out[k_] = NULL; }} " \
                if p.name == "out" else f"if ({p.name}) {{ *{p.name} = NULL; }} "
    return code


def main():
    include, header, source = sys.argv[1:]
    h = headers.read(include + "/egret")
    names, code = [], []
    for f in h.functions.values():
        if not f.header.startswith("ops/") or f.name in generate.HAND or f.name in generate.NOT_FOR_LUA:
            continue
        try:
            names.append((f.name, *function(h, f)))
        except Unsaid as what:
            sys.exit(f"replay.py: {f.name}: {what}")
    bodies = "\n".join(body for _, _, body in names)
    generate.describe(h, code, bodies)
    unary = [f.name for f in h.functions.values() if f.header.startswith("ops/") and f.result.type == "eg_tensor"
             and [(p.type, p.stars) for p in f.parameters] == [("eg_tensor", 1)]]
    rows = "".join(f"    {{lua_{name}, {name}}},\n" for name in unary)
    code.append(f"const egt_alias egt_aliases[] = {{\n{rows}    {{0}}\n}};\n")
    with open(header, "w") as out:
        out.write("#include <egret/egret.h>\n" + "".join(f"{signature};\n" for _, signature, _ in names)
                  + "#ifndef EGT_REPLAY\n" + "".join(f"#define {name} lua_{name}\n" for name, _, _ in names) + "#endif\n")
    with open(source, "w") as out:
        out.write('#define EGT_REPLAY\n#include "tests/lua/replay.h"\n#include "replay_names.h"\n' + "\n".join(code) + "\n" + bodies)


if __name__ == "__main__":
    main()
