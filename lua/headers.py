"""Reads the public headers: functions, structs, enums and what is said about them.

The headers are regular enough to be read without a C compiler: a comment, then what it is about; a prototype
begins with EG_API and ends with a semicolon; an options struct begins with `size_t size;`.
"""

import pathlib
import re
from dataclasses import dataclass, field


@dataclass
class Parameter:
    type: str   # without `const` and stars: "eg_tensor", "int64_t", "char"; "..." of any number
    stars: int
    const: bool
    name: str
    array: str = ""  # "4" of `int64_t out[4]`
    code: str = ""   # as written, of pointers to functions


@dataclass
class Function:
    name: str
    result: Parameter
    parameters: list
    text: str    # the comment above
    header: str  # "ops/conv.h"
    prototype: str


@dataclass
class Struct:
    name: str
    fields: list
    text: str
    body: str  # the fields with their comments, as written
    header: str

    @property
    def is_options(self):
        return bool(self.fields) and self.fields[0].name == "size" and self.fields[0].type == "size_t"


@dataclass
class Enum:
    name: str  # "" for one without
    values: list
    text: str
    header: str
    body: str  # the values with their comments, as written


@dataclass
class Headers:
    functions: dict = field(default_factory=dict)
    structs: dict = field(default_factory=dict)
    enums: dict = field(default_factory=dict)
    constants: list = field(default_factory=list)  # of enums without a name
    handles: list = field(default_factory=list)    # typedef struct eg_module eg_module;
    callbacks: set = field(default_factory=set)    # names of function types
    paths: list = field(default_factory=list)


def parameter(code):
    """`const eg_tensor *t`, `int64_t out[4]`, `void (*f)(void *)`."""
    code = " ".join(code.split())
    if "(*" in code:
        return Parameter("function", 0, False, re.search(r"\(\*(\w+)\)", code)[1], code=code)
    if code == "...":
        return Parameter(code, 0, False, "", code=code)
    words = re.findall(r"\w+", re.sub(r"\[.*", "", code))
    kinds = [w for w in words if w not in ("const", "struct")]
    name = kinds.pop() if len(kinds) > 1 else ""
    array = ",".join(re.findall(r"\[(\w*)\]", code))
    return Parameter(" ".join(kinds), code.count("*"), words[0] == "const", name, array, code)


def split_commas(code):
    """The parts between commas that are in no parentheses."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(code):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(code[last:i])
            last = i + 1
    return [p for p in parts + [code[last:]] if p.strip()]


def fields(body):
    """The members of a struct; `int64_t stride, dilation;` are two."""
    found = []
    for line in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(";"):
        if not line.strip():
            continue
        if "(*" in line:
            found.append(parameter(line))
            continue
        first, *others = split_commas(line)
        found.append(parameter(first))
        base = re.match(r"\s*((?:const )?(?:struct )?\w+)", first)[1]
        found += [parameter(f"{base} {other.strip()}") for other in others]
    return found


def comment_text(code):
    """The words of a comment, without its stars."""
    lines = re.sub(r"^/\*+|\*/$", "", code.strip()).split("\n")
    lines = [re.sub(r"^ ?\* ?", "", line.rstrip()) for line in lines]
    return "\n".join(lines).strip()


def commented(body, piece):
    """[code, comment] for each piece of a body, with what is said of it, behind or above."""
    rows, above, last = [], "", 0
    for piece in re.finditer(r"/\*.*?\*/|" + piece, body, re.S):
        words = piece[0].strip()
        beside = "\n" not in body[last:piece.start()]
        last = piece.end()
        if words.startswith("/*"):
            words = " ".join(re.sub(r"\n *\*", " ", comment_text(words)).split())
            if beside and rows:
                rows[-1][1] = (rows[-1][1] + " " + words).strip()
            else:
                above = words
            continue
        last -= len(piece[0]) - len(piece[0].rstrip())
        rows.append([words, above])
        above = ""
    return rows


def members(struct):
    """(names, comment) for each declaration."""
    return [([g.name for g in fields(words)], comment) for words, comment in commented(struct.body, r"[^;/]+;")]


PIECE = re.compile(r"/\*.*?\*/|#(?:[^\n\\]|\\.|\\\n)*|EG_API[^;]*;|typedef (?:struct|enum)\s*\w*\s*\{.*?\n?\}\s*\w+;"
                   r"|typedef[^;{]*;|enum\s*\{[^}]*\};|\n[ \t]*\n", re.S)


def without_preprocessor_in_enums(body):
    return re.sub(r"(?m)^#.*$", "", body)


def read_header(into, root, path):
    header = str(path.relative_to(root))
    code = path.read_text()
    text, last_text, group = "", "", ""
    for piece in PIECE.finditer(code):
        p = piece[0]
        if p.startswith("/*"):
            text = "" if "----" in p.split("\n")[0] and p.count("\n") == 0 else comment_text(p)
            continue
        if not p.strip():       # an empty line: what follows is no longer about the last comment
            last_text = "" if not text else last_text
            continue
        if p.startswith("#"):
            continue
        if p.startswith("EG_API"):
            last_text = text or last_text
            text = ""
            one = " ".join(p[len("EG_API"):].rstrip(";").split())
            one = re.sub(r" EG_PRINTF\(.*\)$", "", one)
            name = re.search(r"(\w+)\(", one)[1]
            result, rest = one.split(name + "(", 1)
            arguments = rest.rsplit(")", 1)[0]
            parameters = [] if arguments == "void" else [parameter(a) for a in split_commas(arguments)]
            into.functions[name] = Function(name, parameter(result.strip() + " result_"), parameters, last_text,
                                            header, one + ";")
            continue
        if p.startswith("typedef struct") and "{" in p:
            body = p[p.index("{") + 1:p.rindex("}")]
            name = p[p.rindex("}") + 1:].strip(" ;")
            into.structs[name] = Struct(name, fields(body), text, body, header)
        elif p.startswith("typedef enum"):
            body = p[p.index("{") + 1:p.rindex("}")]
            name = p[p.rindex("}") + 1:].strip(" ;")
            bare = without_preprocessor_in_enums(re.sub(r"/\*.*?\*/", "", body, flags=re.S))
            values = re.findall(r"\b(EG_\w+)\b(?=\s*(?:,|=|$))", bare)
            into.enums[name] = Enum(name, values, text, header, body)
        elif p.startswith("enum"):
            body = re.sub(r"/\*.*?\*/", "", p, flags=re.S)
            into.constants += re.findall(r"\b(EG_[A-Z0-9_]+)\s*=", body)
        elif match := re.match(r"typedef struct (\w+) \1;", p):
            if match[1] not in into.handles:
                into.handles.append(match[1])
        elif p.startswith("typedef"):
            into.callbacks.add(re.search(r"\(\*(\w+)\)|(\w+)\(", p).group(1) or re.search(r"(\w+)\(", p)[1])
        last_text = text or last_text
        text = ""


def is_for_programs(path):
    """What programs in C lean on, with loops that are macros and a main to call; scripts have egret.run instead, and eg.show,
    eg.plot, eg.heatmap and eg.sound draw for them."""
    return path.parts[-1] in ("draw.h", "run.h") or "run" in path.parts[:-1]


def read(root):
    """All of include/egret/."""
    root = pathlib.Path(root)
    headers = Headers()
    headers.paths = sorted(p for p in root.rglob("*.h") if not is_for_programs(p.relative_to(root)))
    if not headers.paths:
        raise SystemExit(f"{root}: no headers")
    for path in headers.paths:
        read_header(headers, root, path)
    for name in list(headers.handles):
        if name in headers.structs:
            del headers.structs[name]
    return headers
