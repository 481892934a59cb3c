"""Tokenizers of `tokenizers` and `sentencepiece`, trained on the spot, and what they make of lines of many scripts.

    python3 token_files.py FOLDER --data DIR [--lines N] [--small]

Writes into FOLDER train.txt, for each of the tokenizers below its file and NAME.jsonl: for each line its text, ids,
offsets in bytes, numbers of words and the text that the ids give back, of some pairs too with how they are cut. --data is the folder of the data sets, whose English, German and Spanish
sentences are the ordinary lines; the rest is made here, by chance but always the same: letters of many scripts, accents
alone and composed, emoji with joiners, controls, blanks of all kinds, long words; of characters only those that were
there when the oldest of the tables was made. --small: few lines and small
vocabularies, which are the ones that are kept beside this script. Needs tokenizers, transformers and sentencepiece."""
import argparse
import gzip
import json
import os
import random
import unicodedata

import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

SCRIPTS = [(0x41, 0x5a), (0x61, 0x7a), (0xc0, 0x17f), (0x370, 0x3ff), (0x400, 0x4ff), (0x590, 0x5ff), (0x600, 0x6ff),
           (0x900, 0x97f), (0xe00, 0xe7f), (0x1100, 0x11ff), (0x1e00, 0x1eff), (0x2000, 0x206f), (0x20a0, 0x20bf),
           (0x2100, 0x218f), (0x2500, 0x257f), (0x3000, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0xf900, 0xfaff),
           (0xfb00, 0xfb4f), (0xff00, 0xffef), (0x1d400, 0x1d7ff), (0x1f300, 0x1f64f), (0x20000, 0x2a6df)]
ODD = ["\u0301", "\u0323", "\u0308", "\u200d", "\u200c", "\ufe0f", "\u00a0", "\u3000", "\u2028", "\ufeff", "\ufffd",
       "\t", "\x01", "\x7f", "\u0130", "\u00df", "\u01c5", "\ufb03", "\u1e9b\u0323", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
       "\U0001f1e9\U0001f1ea", "e\u0301", "n\u0303", "o\u0302\u0323", "\u0e01\u0e33", "\u0928\u093f", "\uac01", "\u1100\u1161\u11a8",
       "'s", "'ll", "don't", "...", "--", "1,234.5", "\u0663\u0664", "\u2460", "\u00bd", "[MASK]", "<s>", "</s>", "<mask>",
       "_", "\\", "\u2581", "##ing", " ", "  ", "    "]


def sentences(data):
    lines = []
    for name in ("train.en.gz", "train.de.gz"):
        with gzip.open(os.path.join(data, "multi30k", name), "rt", encoding="utf-8") as file:
            lines += [line.rstrip("\n") for line in file][:6000]
    with gzip.open(os.path.join(data, "spa-eng", "spa.txt.gz"), "rt", encoding="utf-8") as file:
        lines += [line.rstrip("\n").split("\t")[1] for line in file][-6000:]
    return lines


def character(chance, first, last):
    """One that all tables know: of Unicode 3.2, or an emoji."""
    while True:
        c = chr(chance.randint(first, last))
        if first == 0x1f300 or unicodedata.ucd_3_2_0.category(c) != "Cn":
            return c


def made(chance, long):
    """A line of words in several scripts."""
    line = []
    for _ in range(chance.randint(0, 12)):
        kind = chance.random()
        if kind < .3:
            line.append(chance.choice(ODD))
        elif kind < .35:
            line.append(character(chance, *chance.choice(SCRIPTS)) * chance.randint(1, long))
        else:
            first, last = chance.choice(SCRIPTS)
            line.append("".join(character(chance, first, last) for _ in range(chance.randint(1, 8))))
        line.append(chance.choice(["", " ", " ", "  ", "-", ", "]))
    return "".join(line)


def lines_of(data, n):
    chance = random.Random(1)
    known = sentences(data)
    chance.shuffle(known)
    lines = ["", " ", "  a  ", "Hello, world!", "\u00a0x", "a\u0301e\u0301", "[CLS] [MASK]ed"]
    while len(lines) < n:
        lines.append(known[len(lines) % len(known)] if len(lines) % 2 else made(chance, 200 if n > 100 else 20))
    assert len(lines) == n
    return lines


# ---- tokenizers of Hugging Face ------------------------------------------------------------------------


def bert(train, size, lower=True):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lower)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(train, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    cls, sep = t.token_to_id("[CLS]"), t.token_to_id("[SEP]")
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", cls), ("[SEP]", sep)])
    return t


def cased(train, size):
    return bert(train, size, False)


def gpt2(train, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.train_from_iterator(train, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def roberta(train, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(train, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def llama3(train, size):
    """Another pattern, and merges that are passed over for whole words."""
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
               r"\s+(?!\S)|\s+")
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(train, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|begin_of_text|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def llama(train, size):
    """BPE of characters behind U+2581, bytes for what is unknown."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    t.train_from_iterator([word for line in train for word in line.split()], trainers.BpeTrainer(
        vocab_size=size, limit_alphabet=80, show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]))
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", t.token_to_id("<s>"))])
    return t


def clip(train, size):
    t = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>", fuse_unk=False))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "),
                                         normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.decoder = decoders.BPEDecoder()
    t.train_from_iterator(train, trainers.BpeTrainer(vocab_size=size, special_tokens=["[UNK]"], show_progress=False,
                                                     end_of_word_suffix="</w>"))
    return t


def t5(train, size):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(train, trainers.UnigramTrainer(vocab_size=size, special_tokens=["<pad>", "</s>", "<unk>"],
                                                         unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                     special_tokens=[("</s>", t.token_to_id("</s>"))])
    return t


def albert(train, size):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                         normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.Punctuation("removed"), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(train, trainers.UnigramTrainer(vocab_size=size, special_tokens=["<unk>"], unk_token="<unk>",
                                                         show_progress=False))
    return t


def words(train, size):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.NFD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    t.train_from_iterator(train, trainers.WordLevelTrainer(vocab_size=size, special_tokens=["[UNK]"],
                                                           show_progress=False))
    return t


def letters(train, size):
    """What eg_bpe_train makes of characters."""
    t = Tokenizer(models.BPE(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator(train, trainers.BpeTrainer(vocab_size=size, special_tokens=["[UNK]", "[PAD]"],
                                                     limit_alphabet=60, min_frequency=2, show_progress=False))
    return t


FACE = [bert, cased, gpt2, roberta, llama3, llama, clip, t5, albert, words, letters]


def places(line):
    """The byte at which each character begins, and the end."""
    at, all_ = 0, []
    for c in line:
        all_.append(at)
        at += len(c.encode())
    return [*all_, at]


def rows(t, e, pair):
    """An encoding and what was cut off it."""
    return [{"ids": x.ids, "types": x.type_ids, "special": x.special_tokens_mask,
             "offsets": [[places(pair[s or 0])[a], places(pair[s or 0])[b]]
                         for (a, b), s in zip(x.offsets, x.sequence_ids)]} for x in [e, *e.overflowing]]


def pairs(t, lines, n):
    """Of lines side by side, cut in all ways."""
    chance, records = random.Random(2), []
    for k in range(n):
        pair = [lines[(7 * k) % len(lines)], lines[(7 * k + 3) % len(lines)]]
        if "  <mask>" in pair[0] + pair[1]:  # of the blanks before it RobertaProcessing takes one twice
            continue
        how = chance.choice(["longest_first", "only_first", "only_second"])
        length, side = chance.randint(5, 40), chance.choice(["right", "left"])
        stride = 0 if how == "longest_first" else chance.randint(0, 1)
        t.enable_truncation(length, stride=stride, strategy=how, direction=side)
        try:
            all_ = rows(t, t.encode(*pair), pair)
        except BaseException as e:  # pyo3's panic is no Exception
            if isinstance(e, KeyboardInterrupt):
                raise
            continue
        if how == "longest_first":
            del all_[1:]
        records.append({"text": pair[0], "pair": pair[1], "max_length": length, "how": how, "stride": stride,
                        "left": side == "left", "rows": all_})
    t.no_truncation()
    return records


def face(folder, name, t, lines):
    t.save(os.path.join(folder, f"{name}.json"))
    with open(os.path.join(folder, f"{name}.jsonl"), "w", encoding="utf-8") as out:
        for line in lines:
            e, at = t.encode(line), places(line)
            record = {"text": line, "ids": e.ids, "offsets": [[at[a], at[b]] for a, b in e.offsets],
                      "words": [-1 if w is None else w for w in e.word_ids], "back": t.decode(e.ids, False)}
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
        for record in pairs(t, lines, len(lines) // 4) if name in ("bert", "roberta", "llama") else []:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")


# ---- SentencePiece ---------------------------------------------------------------------------------------


def piece(folder, name, train, lines, size, **options):
    path = os.path.join(folder, name)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(train), model_prefix=path, vocab_size=size,
                                             minloglevel=2, num_threads=1, **options)
    os.remove(path + ".vocab")
    p = sentencepiece.SentencePieceProcessor(model_file=path + ".model")
    with open(path + ".jsonl", "w", encoding="utf-8") as out:
        for line in lines:
            proto = p.encode(line, return_type="proto")
            record = {"text": line, "ids": [x.id for x in proto.pieces],
                      "offsets": [[x.begin, x.end] for x in proto.pieces], "back": p.decode(p.encode(line))}
            out.write(json.dumps(record, ensure_ascii=False) + "\n")


# ---- subtokens of tensor2tensor -------------------------------------------------------------------------
# By the algorithm of official/transformer (utils/tokenizer.py), told anew.

RESERVED = ["<pad>", "<EOS>"]
ESCAPES = set("\\_u;0123456789")


def alike(c):
    return unicodedata.category(c)[0] in "LN"


def tokens_of(text):
    found, begin = [], 0
    for i in range(1, len(text)):
        if alike(text[i]) != alike(text[i - 1]):
            if text[begin:i] != " " or begin == 0:
                found.append(text[begin:i])
            begin = i
    return found + [text[begin:]] if text else []


def escaped(token, alphabet):
    token = token.replace("\\", "\\\\").replace("_", "\\u")
    return "".join(c if c in alphabet and c != "\n" else f"\\{ord(c)};" for c in token) + "_"


def cut(token, subtokens, longest):
    parts, begin = [], 0
    while begin < len(token):
        end = next(e for e in range(min(len(token), begin + longest), begin, -1) if token[begin:e] in subtokens)
        parts.append(token[begin:end])
        begin = end
    return parts


def subtokens_by(counts, alphabet, least):
    subtokens, longest = set(RESERVED) | alphabet, 1
    for _ in range(4):
        seen = {}
        for token, count in counts.items():
            token, begin = escaped(token, alphabet), 0
            for part in cut(token, subtokens, longest):
                for end in range(begin + 1, len(token) + 1):
                    seen[token[begin:end]] = seen.get(token[begin:end], 0) + count
                begin += len(part)
        lengths = {}
        for part, count in seen.items():
            if count >= least:
                lengths.setdefault(len(part), []).append(part)
        chosen = []
        longest = max(lengths, default=1)
        for length in sorted(lengths, reverse=True):
            for part in lengths[length]:
                count = seen[part]
                if count < least:
                    continue
                if part not in alphabet and part not in RESERVED:
                    chosen.append((count, part))
                for end in range(1, length):
                    seen[part[:end]] -= count
        chosen += [(seen.get(c, 0), c) for c in alphabet]
        result = RESERVED + [part for _, part in sorted(chosen, reverse=True)]
        subtokens = set(result)
    return result


def subtokens_near(counts, alphabet, wanted, within, low=1, high=1000):
    least = (low + high) // 2
    found = subtokens_by(counts, alphabet, least)
    if abs(len(found) - wanted) < within or low >= high or least < 2:
        return found
    other = subtokens_near(counts, alphabet, wanted, within, least + 1, high) if len(found) > wanted else \
        subtokens_near(counts, alphabet, wanted, within, low, least - 1)
    return other if abs(len(other) - wanted) < abs(len(found) - wanted) else found


def subtokens(folder, train, lines, size):
    counts = {}
    for line in train:
        for token in tokens_of(line.strip()):
            counts[token] = counts.get(token, 0) + 1
    alphabet = {c for token in [*counts, *RESERVED] for c in token} | ESCAPES
    found = subtokens_near(counts, alphabet, size, size // 100)
    numbers = {part: i for i, part in enumerate(found)}
    longest = max(map(len, found))
    with open(os.path.join(folder, "subtokens.txt"), "w", encoding="utf-8") as out:
        out.writelines(f"'{part}'\n" for part in found)
    with open(os.path.join(folder, "subtokens.jsonl"), "w", encoding="utf-8") as out:
        for line in lines:
            ids = [numbers[part] for token in tokens_of(line) for part in cut(escaped(token, alphabet), numbers, longest)]
            out.write(json.dumps({"text": line, "ids": ids}, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--data", required=True)
    parser.add_argument("--lines", type=int, default=10000)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    lines, train = lines_of(options.data, options.lines), sentences(options.data)
    size = 400 if options.small else 4000
    if options.small:
        train = train[::60]
    with open(os.path.join(options.folder, "train.txt"), "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in train)
    subtokens(options.folder, train[:2000], lines, size)
    for make in FACE:
        face(options.folder, make.__name__, make(train, size), lines)
    piece(options.folder, "unigram", train, lines, size, model_type="unigram", user_defined_symbols=["<mask>", "[MASK]"],
          normalization_rule_name="identity" if options.small else "nmt_nfkc")
    if not options.small:  # whose rules for characters are a quarter of a megabyte
        piece(options.folder, "nfkc", train, lines, size, model_type="unigram",
              normalization_rule_name="nmt_nfkc_cf", byte_fallback=True)
    piece(options.folder, "pairs", train, lines, size, model_type="bpe", byte_fallback=True,
          user_defined_symbols=["<mask>"], normalization_rule_name="identity" if options.small else "nmt_nfkc")
    piece(options.folder, "plain", train, lines, size, model_type="bpe", normalization_rule_name="identity",
          remove_extra_whitespaces=False, add_dummy_prefix=False)


if __name__ == "__main__":
    main()
