"""Which characters below U+30000 classes of Oniguruma's regular expressions match, by `tokenizers`.

    python3 token_classes.py > tokens/classes.txt

The first lines are the expressions, each of which matches one character; after an empty line, the sets of them that some
character matches, a hexadecimal number each, with bit i for expression i; after another one, runs of characters from
U+0000 on: the length, hexadecimal, and the number of the set. Surrogates are in no run. Needs tokenizers."""
import sys

from tokenizers import Regex, pre_tokenizers

SCRIPTS = ["Han", "Hiragana", "Katakana", "Latin", "Greek", "Cyrillic", "Arabic", "Hebrew", "Thai", "Hangul",
           "Devanagari", "Common", "Inherited", "Hani"]
POSIX = ["alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
         "xdigit", "word"]
CATEGORIES = ["C", "Cc", "Cf", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "LC", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No",
              "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"]
EXPRESSIONS = [
    "\\p{Cn}", "\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "\\h", "\\H", ".", "(?m:.)", "\\O", "\\N", "[\\w]", "[\\W]",
    "[^\\W\\s]", "[\\S\\n]", "[a-z&&[^aeiou]]", "[\\w&&[^\\p{Latin}]&&\\p{Ll}]", "[^\\p{L}&&\\p{Lu}]",
    "[a-c[\\d]-]", "[]\\[^]", "[^]a]", "[\\h\\p{^L}]", "(?i:k)", "(?i:[a-z])", "(?i:\u00e5)", "(?i:[^a-z])",
    "\\p{Uppercase Letter}", "\\p{other-punctuation}", "\\p{^Han}", "\\P{^Han}", "\\p{Any}",
    "\\p{Assigned}", "\\p{Punct}", "\\p{PosixPunct}", "\\p{Alphabetic}", "\\p{White_Space}", "\\x{2028}", "\\u3042",
    "\\t", "\\v", "\\x41", "\\o{101}", "\\cI",
    *(f"[[:{name}:]]" for name in POSIX), *(f"[[:^{name}:]]" for name in POSIX),
    *(f"\\p{{{name}}}" for name in [*POSIX, *CATEGORIES, *SCRIPTS]),
]


def matched(expression):
    """The characters, found in blocks, since what is not matched is kept in pieces."""
    split = pre_tokenizers.Split(Regex(expression), "removed")
    found = set()
    for first in range(0, 0x30000, 0x1000):
        block = [c for c in range(first, first + 0x1000) if not 0xd800 <= c < 0xe000]
        left = {ord(c) for piece, _ in split.pre_tokenize_str("".join(map(chr, block))) for c in piece}
        found.update(c for c in block if c not in left)
    return found


def main():
    sets = [0] * 0x30000
    for i, expression in enumerate(EXPRESSIONS):
        for c in matched(expression):
            sets[c] |= 1 << i
    kinds, runs = {}, []
    for c, x in enumerate(sets):
        if 0xd800 <= c < 0xe000:
            continue
        kind = kinds.setdefault(x, len(kinds))
        if runs and runs[-1][1] == kind:
            runs[-1][0] += 1
        else:
            runs.append([1, kind])
    out = sys.stdout
    out.write("\n".join(EXPRESSIONS) + "\n\n" + "".join(f"{x:x}\n" for x in kinds) + "\n")
    out.writelines(f"{n:x} {kind:x}\n" for n, kind in runs)


main()
