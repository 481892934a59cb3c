"""Random files of Hugging Face's `tokenizers`, and what the library makes of random texts.

    python3 token_random.py [--seed N] [--count N] > tokens/random.jsonl

Draws tokenizers out of every normalizer, pre-tokenizer, model, post-processor and decoder that eg_tokenizer_load reads,
with small vocabularies. A line each: the file, and texts with ids, offsets in bytes, numbers of words and the text that
some ids give back. Left out is what the library itself does not do the same way twice (two added tokens that are equal
once they are normalized) or fails at, and pre-tokenizers after ByteLevel. Needs tokenizers."""
import argparse
import json
import os
import random

from tokenizers import Tokenizer

PIECES = [*"aabbcdeABC 12._-'[]<>/", "\u00e4", "\u00e9", "e\u0301", "\u0301", "\u00df", "\u0130", "\u03a3", "\u4e2d",
          "\u56fd", "\u3042", "\u0928\u093f", "\u093f", "\u200d", "\U0001f44d", "\u2581", "\n", "\t", "  ", "\u00a0",
          "\u3000", "\u01c4", "\ufb01", "\u212b", "\uac00", "\u1100\u1161", "\u0661", "\u00bd", "\u2167", "\u00ab",
          "\u0345", "\ufdfa", "\x7f", "\ufeff", "\ufffd", "\u0120", "<unk>", "[MASK]", "</w>", "##", "<0x41>", "abc",
          "bca", "it's", "don't"]
PATTERNS = ["\\w+", "\\s+", "\\w", "\\d", "[a-c]+", "\\p{L}+", "\\p{Han}", "(?=[A-Z])", "\\b", "a*", "x?", "^", "$", "",
            "a|b", "[^\\w\\s]", "(?i:'s|'t)|\\w+", "\\p{N}{1,2}", "a{,2}", "a{2}+", "[[:alpha:]]+", "\\h+",
            "[\\w&&[^a-c]]+", "\\W+", ".", "\\s+(?!\\S)|\\s", "(a)(b)?\\1", "(?<=a)b", "[a-c[1-2]]+", "\\p{Punct}+",
            "[^a-c&&\\w]", "(?i)ab|C", "\\S+\\s*", "[[:^lower:]]", "\\A."]
BEHAVIORS = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


class Draw(random.Random):
    def flag(self, chance=.5):
        return self.random() < chance

    def text(self, most):
        return "".join(self.choice(PIECES) for _ in range(self.randint(0, most)))

    def pattern(self):
        if self.flag(.6):
            return {"Regex": self.choice(PATTERNS)}
        return {"String": self.choice([" ", "a", "ab", "\u00e9", "", "\u2581", ".", "\u4e2d"])}

    def several(self, one, depth):
        return [x for x in (one(depth + 1) for _ in range(self.randint(0, 3))) if x]


def normalizer(r, depth=0):
    kind = r.choice(["BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "StripAccents", "Prepend",
                     "Replace", "Strip", "Sequence", None])
    if kind == "Sequence":
        return {"type": kind, "normalizers": r.several(lambda d: normalizer(r, d), depth)} if depth < 2 else None
    more = {"BertNormalizer": lambda: {"clean_text": r.flag(), "handle_chinese_chars": r.flag(),
                                       "strip_accents": r.choice([None, True, False]), "lowercase": r.flag()},
            "Prepend": lambda: {"prepend": r.choice(["\u2581", " ", "ab"])},
            "Replace": lambda: {"pattern": r.pattern(), "content": r.choice(["", " ", "\u2581", "xy"])},
            "Strip": lambda: {"strip_left": r.flag(), "strip_right": r.flag()}}
    return kind and {"type": kind, **more.get(kind, dict)()}


def pre_tokenizer(r, depth=0):
    kind = r.choice(["BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation", "Split",
                     "Split", "Whitespace", "WhitespaceSplit", "Sequence", None])
    if kind == "Sequence":
        return {"type": kind, "pretokenizers": r.several(lambda d: pre_tokenizer(r, d), depth)} if depth < 2 else None
    more = {"ByteLevel": lambda: {"add_prefix_space": r.flag(), "trim_offsets": r.flag(), "use_regex": r.flag()},
            "CharDelimiterSplit": lambda: {"delimiter": r.choice([" ", "a", "\u4e2d"])},
            "Digits": lambda: {"individual_digits": r.flag()},
            "Metaspace": lambda: {"replacement": r.choice("\u2581_"), "split": r.flag(),
                                  "prepend_scheme": r.choice(["always", "first", "never"])},
            "Punctuation": lambda: {"behavior": r.choice(BEHAVIORS)},
            "Split": lambda: {"pattern": r.pattern(), "behavior": r.choice(BEHAVIORS), "invert": r.flag()}}
    return kind and {"type": kind, **more.get(kind, dict)()}


def decoder(r, depth=0):
    kind = r.choice(["BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Strip", "WordPiece",
                     "Sequence", None])
    if kind == "Sequence":
        return {"type": kind, "decoders": r.several(lambda d: decoder(r, d), depth)} if depth < 2 else None
    more = {"BPEDecoder": lambda: {"suffix": r.choice(["</w>", "a"])},
            "ByteLevel": lambda: {"add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "CTC": lambda: {"pad_token": r.choice(["a", "<pad>"]), "word_delimiter_token": r.choice("|b"),
                            "cleanup": r.flag()},
            "Metaspace": lambda: {"replacement": r.choice("\u2581_"), "split": True,
                                  "prepend_scheme": r.choice(["always", "first", "never"])},
            "Replace": lambda: {"pattern": r.pattern(), "content": r.choice(["", " ", "zz"])},
            "Strip": lambda: {"content": r.choice(" a\u2581"), "start": r.randint(0, 2), "stop": r.randint(0, 2)},
            "WordPiece": lambda: {"prefix": r.choice(["##", ""]), "cleanup": r.flag()}}
    return kind and {"type": kind, **more.get(kind, dict)()}


def kinds(part, key):
    """The types of a pre-tokenizer, in order."""
    return [k for x in part[key] for k in kinds(x, key)] if part and key in part else [part["type"]] if part else []


def byte_character(b):
    return chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174 else chr(
        256 + (b if b <= 32 else b - 94 if b <= 160 else 67))


def model(r, by_bytes):
    kind = "BPE" if by_bytes else r.choice(["BPE", "BPE", "WordLevel", "WordPiece", "Unigram"])
    some = [c for c in PIECES if r.flag(.8)] + [r.text(3) for _ in range(15)]
    if kind == "Unigram":
        pieces = dict.fromkeys(s for s in some if s)
        fallback = r.flag(.4)
        pieces.update((f"<0x{b:02X}>", None) for b in range(256) if fallback and r.flag(.2))
        vocab = [["<unk>", 0.0], *([s, -round(r.uniform(1, 9), 2)] for s in pieces if s != "<unk>")]
        return {"type": kind, "unk_id": 0, "vocab": vocab, "byte_fallback": fallback}
    if kind == "WordLevel":
        vocab = dict.fromkeys(["[UNK]", *some])
        vocab.pop("", None)
        return {"type": kind, "unk_token": "[UNK]", "vocab": {s: i for i, s in enumerate(vocab)}}
    if kind == "WordPiece":
        prefix = r.choice(["##", "", "@@"])
        vocab = dict.fromkeys(["[UNK]", *(a + s for s in some if s for a in ("", prefix))])
        return {"type": kind, "unk_token": "[UNK]", "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": r.choice([3, 100]), "vocab": {s: i for i, s in enumerate(vocab)}}
    return byte_pairs(r, by_bytes)


def byte_pairs(r, by_bytes):
    prefix, suffix, unknown = r.choice([None, "", "##"]), r.choice([None, "", "</w>"]), r.choice([None, "[UNK]"])
    fallback = r.flag(.3) and not prefix and not suffix and not by_bytes
    all_ = sorted(set("".join(PIECES).encode())) if by_bytes else sorted(set("".join(PIECES)))
    letters = [(a, byte_character(c) if by_bytes else c, z) for c in all_ if r.flag(.8)
               for a in {"", prefix or ""} for z in {"", suffix or ""}]
    vocab = dict.fromkeys(([unknown] if unknown else []) + ["".join(x) for x in sorted(letters)])
    vocab.update((f"<0x{b:02X}>", None) for b in range(256) if fallback and r.flag(.3))
    parts = [x for x in sorted(letters) if x[1] in "abcABC12e\u0120"]
    merges = []
    for _ in range(20 if parts else 0):
        a, b = r.choice(parts), r.choice(parts)
        joint = (a[0], a[1] + b[1], b[2])
        if not a[2] and (b[0] or not prefix) and len(joint[1]) < 6 and ["".join(a), "".join(b)] not in merges:
            merges.append(["".join(a), "".join(b)])
            parts.append(joint)
            vocab.setdefault("".join(joint))
    return {"type": "BPE", "dropout": None, "unk_token": unknown, "continuing_subword_prefix": prefix,
            "end_of_word_suffix": suffix, "fuse_unk": r.flag(), "byte_fallback": fallback,
            "ignore_merges": r.flag(.2), "vocab": {s: i for i, s in enumerate(vocab)}, "merges": merges}


def post_processor(r, vocab):
    a, b = r.choice(sorted(vocab.items())), r.choice(sorted(vocab.items()))
    kind = r.choice(["ByteLevel", "BertProcessing", "RobertaProcessing", "TemplateProcessing", None])
    trim = {"add_prefix_space": r.flag(), "trim_offsets": r.flag()}
    token = {"SpecialToken": {"id": a[0], "type_id": 1}}
    first, second = ({"Sequence": {"id": s, "type_id": i}} for i, s in enumerate("AB"))
    more = {"ByteLevel": {**trim, "use_regex": True}, "BertProcessing": {"sep": list(a), "cls": list(b)},
            "RobertaProcessing": {"sep": list(a), "cls": list(b), **trim},
            "TemplateProcessing": {"single": [token, first], "pair": [first, token, second],
                                   "special_tokens": {a[0]: {"id": a[0], "ids": [a[1]], "tokens": [a[0]]}}}}
    return kind and {"type": kind, **more[kind]}


def added_tokens(r, vocab):
    found, free = [], max(vocab.values()) + 1
    for content in r.sample(["[MASK]", "<unk>", "abc", "bca", " a", "a ", "AB", "\u00e9", "ab", "b", " ", "\u4e2d"],
                            r.randint(0, 4)):
        found.append({"id": vocab.get(content, free), "content": content, "single_word": r.flag(.3), "lstrip": r.flag(.3),
                      "rstrip": r.flag(.3), "normalized": r.flag(), "special": r.flag(.4)})
        free += content not in vocab
    return sorted(found, key=lambda x: x["id"])


def is_left_out(tokenizer, file):
    steps = kinds(file["pre_tokenizer"], "pretokenizers")
    contents = [x["content"] for x in file["added_tokens"] if x["normalized"]]
    if tokenizer.normalizer:
        contents = [tokenizer.normalizer.normalize_str(s) for s in contents]
    return "ByteLevel" in steps[:-1] or len(set(contents)) < len(contents) or "" in contents


def record(tokenizer, r, size):
    text = r.text(12)
    at = [len(text[:i].encode()) for i in range(len(text) + 1)]
    e = tokenizer.encode(text)
    ids = [r.randrange(size) for _ in range(r.randint(1, 6))] if r.flag(.3) else e.ids
    skip = r.flag()
    return {"text": text, "ids": e.ids, "offsets": [[at[a], at[b]] for a, b in e.offsets],
            "words": [-1 if w is None else w for w in e.word_ids], "decoded": ids, "skip": skip,
            "back": tokenizer.decode(ids, skip)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    r, made = Draw(options.seed), 0
    os.environ["RUST_BACKTRACE"] = "0"
    while made < options.count:
        pre = pre_tokenizer(r)
        m = model(r, "ByteLevel" in kinds(pre, "pretokenizers"))
        vocab = m["vocab"] if isinstance(m["vocab"], dict) else {s: i for i, (s, _) in enumerate(m["vocab"])}
        file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens(r, vocab),
                "normalizer": normalizer(r), "pre_tokenizer": pre, "post_processor": post_processor(r, vocab),
                "decoder": decoder(r), "model": m}
        try:
            tokenizer = Tokenizer.from_str(json.dumps(file))
            if is_left_out(tokenizer, file):
                continue
            records = [record(tokenizer, r, len(vocab)) for _ in range(4)]
        except BaseException as e:  # pyo3's panic is no Exception
            if isinstance(e, KeyboardInterrupt):
                raise
            continue
        print(json.dumps({"file": file, "texts": records}, ensure_ascii=False, separators=(",", ":")))
        made += 1


main()
