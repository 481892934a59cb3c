#!/usr/bin/env python3
"""Writes the manual for Lua: what the headers say of each function, in Lua's words, and manual.txt.

    manual.py INCLUDE_DIR OUT.c OUT.d

The text of a page is paragraphs, a line each, for whoever shows them to wrap; lines that begin with blanks are formulas
and examples.
"""

import json
import pathlib
import re
import sys

import generate
import headers

OWN = pathlib.Path(__file__).with_name("manual.txt")

# The dtypes in front of pointwise formulas: ops/pointwise.h.
DTYPES = {"f": "Floats; integers and bools become f32.", "n": "Any number, whose dtype is kept.",
          "b": "Integers and bools.", "t": "Any dtype; the result is bool."}


# ---- words --------------------------------------------------------------------------------------------


class Words:
    """C as Lua says it."""

    def __init__(self, h):
        self.h = h
        self.names = {generate.lua_name(f): f for f in h.functions.values()}
        self.words = {value: f'"{word}"' for e in h.enums.values() for value, word in generate.enum_words(e)}

    def name(self, c):
        """eg_linear_new as one writes it; a type as a word."""
        if c in self.h.handles or c in self.h.structs or c in self.h.enums:
            return c.removeprefix("eg_")
        name = c.removeprefix("eg_").removesuffix("_with")
        f = self.names.get(name)
        if not f:
            return f"eg.{name}"
        return generate.HAND.get(f.name) or self.path(f)

    def path(self, f):
        """Its name in eg.nn and the like if it has one, else the shortest."""
        places = generate.places(self.h, f, self.names)
        space, name = next((place for place in places if place[0]), places[-1])
        return f"eg.{space}.{name}" if space else f"eg.{name}"

    def arguments(self, code):
        """Those of a call: designated ones are a table, addresses are results."""
        given, named, strings = [], [], re.findall(r'"[^"]*"', code)
        code = re.sub(r'"[^"]*"', '""', code)
        parts = [p.strip() for p in headers.split_commas(code)]
        for i, part in enumerate(parts):
            if m := re.match(r"\.(\w+) = &\w+$", part):
                named.append(f"{m[1]} = true")
            elif m := re.match(r"\.(\w+) = (.*)$", part, re.S):
                named.append(f"{m[1]} = {m[2]}")
            elif part.startswith("&") or (i and parts[i - 1].startswith("(eg_tensor *[]){")):
                continue  # a result; the length of the list
            else:
                given.append(re.sub(r"^\(eg_\w+ \*?\[\]\)", "", part))
        given += ["{" + ", ".join(named) + "}"] if named else []
        return re.sub('""', lambda _: strings.pop(0), ", ".join(given))

    def calls(self, text):
        """The innermost first, so that a call's arguments are Lua's already."""
        for _ in range(8):
            before = text
            text = re.sub(r"\b(eg_\w+|EG_SHAPE|EG_AXES)\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\)", self.call, text)
            if text == before:
                return text
        return text

    def call(self, m):
        if m[1] in ("EG_SHAPE", "EG_AXES"):
            return "{" + m[2] + "}"
        return f"{self.name(m[1])}({self.arguments(m[2])})"

    def constant(self, m):
        c = m[0]
        if c == "EG_ZERO":
            return "0"
        if c in self.h.constants or c in ("EG_END", "EG_MAX_DIMS"):
            return "eg." + c.removeprefix("EG_")
        return "an error" if re.match(r"EG_E[A-Z]+$", c) else self.words.get(c, c)

    def lua(self, text):
        text = re.sub(r"\b(?:const )?(?:eg_\w+|char|double|int64_t|int|float) \**(\w+) = ", r"local \1 = ", text)
        text = re.sub(r"\(eg_\w+\)\{0?\}", "{}", self.calls(text))
        text = re.sub(r"\bEG_[A-Z][A-Z0-9_]*\b", self.constant, text)
        text = re.sub(r"\beg_[a-z]\w*", lambda m: self.name(m[0]), text)
        text = re.sub(r"(?<![\w.)\]\"'])\.([a-z]\w*)\b(?!\.)", r"\1", text)
        text = re.sub(r"\bNULL\b", "nil", text)
        text = re.sub(r"an error(?:(?:, | or | and |, or |; )an error)+", "an error", text)
        text = re.sub(r"\b(are|entries) an error\b", r"\1 errors", text)
        text = re.sub(r"(^|\.\s|\n\n)an error\b", r"\1An error", text)
        text = re.sub(r"Zero-initialised\b", "Without options", text)
        text = re.sub(r"[;,]\s(?:the\scaller\sfrees\sit(?:\swith\seg\.\w+)?|borrowed)\b", "", text)
        return re.sub(r"\s?The\scaller\sfrees\s(?:it|the\s\w+)(?:\swith\seg\.\w+)?\.", "", text)

    def text(self, c):
        """Paragraphs, and examples as they are."""
        lines = self.lua(c).split("\n")
        for i, line in enumerate(lines):
            if line.startswith("  "):
                line = re.sub(r"\s*//\s*(.*)$", r"   -- \1", line)
                lines[i] = re.sub(r"(?<=\));(\s*(?:--.*)?)$", r"\1", line)
        return paragraphs("\n".join(lines))


# ---- paragraphs ---------------------------------------------------------------------------------------


def ends(line, following, width):
    """Whether a line of prose is the last of its paragraph."""
    if not following.strip() or following.startswith(" ") or re.match(r"grad\b|- |\d\. |\w+:  ", following):
        return True
    return line.endswith((".", ":", ";")) and len(line) < 0.7 * width


def paragraphs(text):
    """Prose one line a paragraph; indented lines as they are."""
    lines, out = text.split("\n"), []
    width = max((len(line) for line in lines), default=0)
    open_ = False
    for line, following in zip(lines, lines[1:] + [""]):
        prose = line.strip() and not line.startswith(" ")
        if prose and open_:
            out[-1] += " " + line
        elif line.strip() or (out and out[-1]):
            out.append(line)
        open_ = prose and not ends(line, following, width)
    return "\n".join(out).strip("\n")


# ---- options ------------------------------------------------------------------------------------------


def defaults(comment):
    """An option that is 0 is not given."""
    return re.sub(r"(?<!not )(?<!above )\b0: ", "default ", comment)


def described(h, words, types):
    """What is said of the words of enums; dtypes go without."""
    text = ""
    for e in (h.enums[t] for t in dict.fromkeys(types) if t in h.enums and t != "eg_dtype"):
        known = dict(generate.enum_words(e))
        rows = [(known.get(re.match(r"\w+", code)[0]), words.lua(defaults(comment)))
                for code, comment in headers.commented(e.body, r"EG_\w+[^,/]*,?")]
        if any(comment for word, comment in rows if word):
            said = "" if re.match(r"\S+\.h - ", e.text) else words.lua(e.text.split("\n\n")[0].replace("\n", " "))
            text += f"\n\n{e.name.removeprefix('eg_')}:" + (f" {said}" if said else "") + "".join(
                f'\n  "{word}"' + (f": {comment}" if comment else "") for word, comment in rows if word)
    return text


def kind(h, g, several):
    """What a member takes."""
    s = "s" if several else ""
    counts = [c for c in g.array.split(",") if c]
    one = {"bool": "boolean", "double": "number", "char": "string"}.get(g.type, "integer")
    if g.type == "function":
        return "function of a tensor, as eg.relu" if "activation" in g.code else "function"
    if g.type == "eg_tensor":
        return "true for one more result" if g.stars == 2 else "tensor" + s
    if g.type in h.enums:
        return "one of " + ", ".join(f'"{word}"' for _, word in generate.enum_words(h.enums[g.type]))
    if g.type == "eg_shape":
        return "list of lists of sizes" if counts else "list of sizes"
    elif g.type == "eg_axes":
        return "list of axes"
    elif g.type in h.handles and g.stars == 2:
        return "true for one more result"
    elif g.type in h.handles:
        one = g.type[3:]
    elif g.type in h.structs:
        one = "table"
    elif g.type == "char" and counts:
        return "string" + s
    if g.stars and g.type in ("int64_t", "double") or g.stars == 2:
        return f"list{s} of {one}s"
    if len(counts) == 2:
        return f"list{s} of lists of {one}s"
    return f"list{s} of {one}s" if counts else one + s


def options(h, words, p, said):
    """The fields of an argument that is a table."""
    s = h.structs[p.type]
    text = s.text if s.text not in said else ""
    text = re.sub(r"^\S+\.h - ", "", text)
    by_name = {g.name: g for g in generate.fields_of(s)}
    lines = []
    for names, comment in headers.members(s):
        fields = [by_name[n] for n in names if n in by_name]
        if not fields or any(g.type == "function" and "activation" not in g.code for g in fields):
            continue
        comment = words.lua(defaults(comment))
        joint = "" if not comment else (". " if comment[0].isupper() else "; ") + comment
        lines.append(f"  {', '.join(names)}: {kind(h, fields[0], len(names) > 1)}{joint}")
    return "\n\n" + (words.text(text) + "\n\n" if text else "") + f"{p.name}:\n" + "\n".join(lines)


# ---- pages --------------------------------------------------------------------------------------------


def title(path):
    """What a header says first."""
    m = re.match(r"/\*+ \S+\.h - (.*?)(?:\n \*\n| ?\*/)", path.read_text(), re.S)
    return " ".join(re.sub(r"\n \* ?", " ", m[1]).split()).split(". ")[0].rstrip(".") if m else ""


def read_own():
    """{"eg.show": (usage, text)}"""
    own = {}
    for section in re.split(r"\n(?=\S)", OWN.read_text().split("\n\n", 1)[1].strip("\n")):
        usage, *lines = section.split("\n")
        text = "\n".join(line[4:] for line in lines).strip("\n")
        own[usage.split("(")[0]] = usage, paragraphs(text)
    return own


def usage(h, words, f, wrapper):
    """values, indices = eg.sort(x, axis, descending); what a handle does is its method."""
    defaults = {p.name: generate.DEFAULTS.get((f.name, p.name)) for p in f.parameters}
    arguments = ["{" + a + "}" if a == "options" else f"{a} = {defaults[a]}" if defaults.get(a) else a
                 for a in wrapper.usage]
    method = generate.method(h, f)
    call = words.path(f)
    if method and method[0] != "tensor":
        call = ":".join(method)
        arguments = arguments[1:]
    results = [name for what, name, _ in wrapper.results if what == "tensor"]
    return (", ".join(results) + " = " if results else "") + f"{call}({', '.join(arguments)})"


# How texts begin that go on from the one above.
GOES_ON = re.compile(r"(The same(?=,| (?:of|for|with|from|where|less|without|after)\b)|And back\b|Its\b)")


def above(h, f):
    """The function whose text is in front of f's in the header; of several with one text the first."""
    before = first = None
    for g in h.functions.values():
        if g.name not in generate.NOT_FOR_LUA and (not first or g.text != first.text):
            before, first = first, g
        if g is f:
            return before
    return None


def prose(h, words, f):
    text = words.text(f.text)
    if GOES_ON.match(text):
        text = f"After {words.name(above(h, f).name)}: {text[0].lower()}{text[1:]}"
    if (m := re.match(r"\[([fnbt])\] *", text)) and f.header == "ops/pointwise.h":
        text = f"{text[m.end():]}\n\n{DTYPES[m[1]]}".strip()
    if f.result.type in h.structs and not f.result.stars and f.result.type not in generate.PLAIN:
        text += "\n\nThe result is a table: " + ", ".join(g.name for g in h.structs[f.result.type].fields) + "."
    return text


def pages(h):
    """(name, usage, header, its title, prototype, text) of all."""
    paths = {str(path).rsplit("/egret/", 1)[1]: path for path in h.paths}
    titles = {header: title(paths[header]) for header in {f.header for f in h.functions.values()}}
    words, own = Words(h), read_own()
    made = {f.name: wrapper for f, _, wrapper in generate.wrap_all(h)}
    rows = {}
    for f in sorted(h.functions.values(), key=generate.lua_name):
        if f.name in generate.NOT_FOR_LUA or f.name.endswith("_free"):
            continue
        call, text, name = "", "", generate.lua_name(f)
        if f.name in generate.HAND:
            key = generate.HAND[f.name]
            if key not in own:
                if any(row[1].split("(")[0] == key for row in rows.values()):
                    continue  # several functions of C are one
                sys.exit(f"manual.py: {key} is not in {OWN.name}")
            call, text = own.pop(key)
        else:
            call, text = usage(h, words, f, made[f.name]), prose(h, words, f)
        for p in f.parameters:
            if "options" in call or f.name not in generate.HAND:
                s = h.structs.get(p.type)
                if s and p.type not in ("eg_shape", "eg_axes", "eg_parameters", "eg_tape", "eg_scope"):
                    text += options(h, words, p, f.text)
        if f.name not in generate.HAND or "options" in call:
            members = [g for p in f.parameters for g in [p, *getattr(h.structs.get(p.type), "fields", [])]]
            text += described(h, words, [g.type for g in members])
        rows[name] = name, call, f.header, titles.get(f.header, ""), f.prototype, text
    for key, (call, text) in own.items():
        name = re.split(r"[.:]", key)[-1]
        rows[name] = name, call, "", "", "", text
    return [rows[name] for name in sorted(rows)]


def main():
    include, path, depfile = sys.argv[1:]
    h = headers.read(include + "/egret")
    string = generate.c_string
    out = ["/* Made by lua/manual.py from the headers. */", '#include "lua/bind.h"', "",
           "const eg__lua_page eg__lua_pages[] = {"]
    for name, call, header, about, prototype, text in pages(h):
        out.append(f'    {{"{name}", {json.dumps(call)}, "{header}", {json.dumps(about)},\n'
                   f"        {string(prototype)},\n        {string(text)}}},")
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n    {0}\n};\n")
    with open(depfile, "w") as f:
        f.write(f"{path}: {' '.join(map(str, [*h.paths, OWN]))}\n")


if __name__ == "__main__":
    main()
