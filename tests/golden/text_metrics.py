#!/usr/bin/env python3
"""Writes text_metrics.json: what sacrebleu, rouge-score, seqeval and jiwer say of texts, ids and tags.

    python3 text_metrics.py [--out DIR]

The tokens of compute_bleu and SQuAD's scores are those of programs that are no packages: they are written out here.
"""
import argparse
import collections
import json
import os
import random
import re
import string
import unicodedata
import warnings

import jiwer
import sacrebleu
import seqeval.metrics
import seqeval.scheme
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU

HAND = [
    ("The cat sat on the mat.", ["The cat is on the mat.", "There is a cat on the mat."]),
    ("It cost $1,234.50 - not 5-6 euros, he said...",
     ["It costs $1,234.50, not 5-6 Euros, he said.", "he said it was 5 - 6"]),
    ("\u201eNein\u201c, sagte sie; das ist \u00dcBER 3,5 % (ca. 10\u20ac)!",
     ["\u00bbNein\u00ab, sagte sie: Das ist \u00fcber 3.5 %!", "Nein"]),
    ("Tom &amp; Jerry&quot;s &lt;b&gt; show <skipped>now", ["Tom & Jerry\"s <b> show now", "Tom and Jerry"]),
    ("a-\nb c\nd e", ["ab c d e", "a b c d e f g"]),
    ("\u6211\u4eec\u5f88\u9ad8\u5174\u3002",
     ["\u6211\u4eec\u975e\u5e38\u9ad8\u5174\u3002", "\u6211\u5f88\u9ad8\u5174\uff01"]),
    ("x=y+1; don't_stop/now [ok] {ok} ~ ^ ` | \\ @home #1", ["x = y + 1; don't _stop / now [ok] {OK}", "x\\y"]),
    ("word", ["word", "another word"]),
    ("", ["something that was not said", "something"]),
    ("the the the the the the", ["the cat the", "the"]),
    (" a\u00a0b c\t d\te  f ", ["a\u00a0b c d e f", "a b"]),
    ("Ends with 2019.", ["It ends with 2019 .", "ends with 2019."]),
    ("\u0663.\u0664 \u216b\u2014\u2160 \u00b2, \u00bd; \u00a3\u00a5\u20ac",
     ["\u0663,\u0664 \u216b - \u2160 \u00b2", "\u00bd; \u00a3\u00a5"]),
]


def drawn_text(rng):
    words = ("the The a an cat Dog 1,000 3.14 U.S. it's \u00c4pfel na\u00efve \u2014 \u20ac5 5% x-ray (so) "
             "\"well\" ... &amp; - \u0416\u0423\u041a e\u0301 \u4e2d\u6587 9-8 a.b,c 2. ,5").split()
    return " ".join(rng.choice(words) for _ in range(rng.randrange(1, 14)))


def drawn(seed, count):
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        reference = drawn_text(rng)
        words = reference.split(" ")
        text = [drawn_text(rng).split(" ")[0] if rng.random() < 0.3 else w for w in words if rng.random() < 0.9]
        pairs.append((" ".join(text), [reference, drawn_text(rng)]))
    return pairs


# Words with endings, by rule and not.
ENDINGS = [("He proposed national organizations hopefully; skies were dying.",
            ["His proposal: nationally organized hope, the sky died"]),
           ("controlling relational conflations of happily enjoyed analogies",
            ["Controlled relations conflated happy, enjoying analogous logic"])]
CORPORA = {"hand": HAND, "drawn": drawn(1, 20), "endings": ENDINGS}


# ---- BLEU --------------------------------------------------------------------------------------------------

def transformer_words(text):
    """What compute_bleu takes for words: one class of all punctuation, which has no backslash for want of another."""
    chars = [chr(c) for c in range(0x10ffff)]
    if not hasattr(transformer_words, "rules"):
        marks = "".join(re.escape(c) for c in chars if unicodedata.category(c)[0] == "P" and c != "\\")
        signs = "".join(re.escape(c) for c in chars if unicodedata.category(c)[0] == "S")
        transformer_words.rules = [(re.compile(rf"([^\d])([{marks}])"), r"\1 \2 "),
                                   (re.compile(rf"([{marks}])([^\d])"), r" \1 \2"),
                                   (re.compile(f"([{signs}])"), r" \1 ")]
    for rule, by in transformer_words.rules:
        text = rule.sub(by, text)
    return " ".join(text.split())


def bleu(pairs, tokens, lower, order, smoothing, amount, effective):
    texts = [t for t, _ in pairs]
    references = [list(r) for r in zip(*(r for _, r in pairs))]
    if tokens == "transformer":
        def words(t):
            return transformer_words(t.lower() if lower else t)
        texts, references = [words(t) for t in texts], [[words(t) for t in r] for r in references]
        lower = False
    metric = BLEU(lowercase=lower, tokenize="none" if tokens == "transformer" else tokens,
                  smooth_method={"add": "add-k"}.get(smoothing, smoothing), smooth_value=amount, max_ngram_order=order,
                  effective_order=effective, force=True)
    return metric.corpus_score(texts, references).score


def bleus():
    rows = []
    for corpus, pairs in CORPORA.items():
        for tokens in ("13a", "intl", "char", "none", "transformer"):
            for lower in (False, True):
                rows.append(dict(corpus=corpus, tokens=tokens, lower=lower, order=4, smoothing="exp", amount=None,
                                 effective=False))
        for smoothing, amount in (("exp", None), ("floor", None), ("floor", 0.01), ("add", None), ("add", 0.5),
                                  ("none", None)):
            for order in (1, 2, 4, 6):
                rows.append(dict(corpus=corpus, tokens="13a", lower=False, order=order, smoothing=smoothing,
                                 amount=amount, effective=order == 6))
    for row in rows:
        row["value"] = bleu(CORPORA[row["corpus"]], *(row[k] for k in ("tokens", "lower", "order", "smoothing",
                                                                        "amount", "effective")))
    return rows


def sentence_bleus():
    return [dict(text=text, references=references, smoothing=smoothing, effective=effective,
                 value=bleu([(text, references)], "13a", False, 4, smoothing, None, effective))
            for corpus in CORPORA.values() for text, references in corpus
            for smoothing, effective in (("exp", True), ("add", False), ("floor", True))]


def id_bleu(rows, references):
    def words(r):
        return " ".join(str(i) for i in r if i >= 0)
    return bleu([(words(a), [words(b)]) for a, b in zip(rows, references)], "none", False, 4, "exp", None, False)


# ---- answers ------------------------------------------------------------------------------------------------

def normal(text):
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def answer_scores(text, answers):
    given = [normal(a) for a in answers if normal(a)] or [[]]
    own = normal(text)

    def f1(other):
        common = sum((collections.Counter(own) & collections.Counter(other)).values())
        if not own or not other:
            return float(own == other)
        p, r = common / len(own), common / len(other)
        return 2 * p * r / (p + r) if common else 0.0
    return max(float(own == a) for a in given), max(f1(a) for a in given)


ANSWERS = [
    ("The Eiffel Tower", ["Eiffel Tower", "the tower"]), ("in 1,889!", ["1889", "in the year 1889"]), ("", []),
    ("something", []), ("", ["yes"]), ("The", [""]), ("an apple", ["the apple", "apples"]),
    ("\u2014the\u2014 end", ["end"]),
    ("A.B. theatre a\u0301n", ["AB theatre an"]), ("\u00dcBER alles", ["\u00fcber Alles", "alles"]),
    ("red green blue green", ["green red", "green green"]), ("x", ["the", "a"]), ("the", ["the", "an"]),
    ("the\u00b2 cat a_b", ["\u00b2 cat ab"]),
]


# ---- spans --------------------------------------------------------------------------------------------------

SCHEMES = {"lenient": "BIOES", "iob1": "IOB", "iob2": "IOB", "ioe1": "IOE", "ioe2": "IOE",
           "iobes": "IOBES", "bilou": "BILOU"}


def span_case(scheme, seed):
    rng = random.Random(seed)
    letters = SCHEMES[scheme]
    names = ["O"] + [f"{x}-{t}" for t in ("PER", "LOC", "MISC", "NONE") for x in letters if x != "O"]
    usual = [i for i, n in enumerate(names) if not n.endswith("NONE")]
    labels = [[rng.choice(usual) for _ in range(12)] for _ in range(8)]
    taken = [[rng.choice(usual) if rng.random() < 0.2 else i for i in row] for row in labels]
    y, x = ([[names[i] for i in row] for row in rows] for rows in (labels, taken))
    of = {"lenient": {}}.get(scheme, dict(mode="strict", scheme=getattr(seqeval.scheme, scheme.upper(), None)))
    m = seqeval.metrics
    scores = {kind: [float(f(y, x, average=kind, **of)) for f in (m.precision_score, m.recall_score, m.f1_score)]
              for kind in ("micro", "macro")}
    report = m.classification_report(y, x, output_dict=True, **of)
    types = {t: [report[t]["precision"], report[t]["recall"], report[t]["f1-score"]]
             for t in ("PER", "LOC", "MISC") if t in report}
    types = {t: [float(v) for v in s] for t, s in types.items()}
    return dict(scheme=scheme, names=names, taken=taken, labels=labels, types=types, **scores)


# ---- all of it ----------------------------------------------------------------------------------------------

def stems():
    """Words of all endings that the stemmer knows, and what it makes of them, if that is its own stem."""
    rng = random.Random(7)
    begins = ("agre hop fall siz trad toy sk conflat troubl y b generaliz oper sensi anal fil tann happ enjo contr "
              "d9").split()
    endings = ("ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness "
               "ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able "
               "ible ant ement ment ent ion ou ism ate iti ous ive ize e ll s es ed ing eed ied ies y sses").split()
    words = sorted({rng.choice(begins) + "".join(rng.choice(endings) for _ in range(rng.randrange(1, 4)))
                    for _ in range(600)} | {"skies", "dying", "news", "howe", "succeed", "outings"})
    stem = PorterStemmer().stem
    return [[w, stem(w)] for w in words if len(w) > 3 and (len(stem(w)) < 4 or stem(stem(w)) == stem(w))]


def rouge(pairs, order, stem):
    kind = f"rouge{order or 'L'}"
    scorer = rouge_scorer.RougeScorer([kind], use_stemmer=stem)
    scores = [scorer.score_multi(references, text)[kind] for text, references in pairs]
    return [sum(s[k] for s in scores) / len(scores) for k in range(3)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    warnings.simplefilter("ignore")
    rng = random.Random(3)
    ids = [[rng.choice([-1, 0, 1, 2, 3, 4, 5]) for _ in range(14)] for _ in range(6)]
    others = [[i if rng.random() < 0.7 else rng.randrange(6) for i in row] + [rng.randrange(6)] for row in ids]
    spoken = {name: [(t, r[0]) for t, r in pairs if "\n" not in t] for name, pairs in CORPORA.items()}
    golden = {
        "corpora": {name: [dict(text=t, references=r) for t, r in pairs] for name, pairs in CORPORA.items()},
        "bleu": bleus(), "sentence_bleu": sentence_bleus(),
        "ids": dict(ids=ids, references=others, bleu=id_bleu(ids, others),
                    edits=jiwer.wer([" ".join(str(i) for i in r if i >= 0) for r in others],
                                    [" ".join(str(i) for i in r if i >= 0) for r in ids])),
        "rouge": [dict(corpus=name, order=order, stem=stem, scores=rouge(pairs, order, stem))
                  for name, pairs in CORPORA.items() for stem in (False, True) for order in (0, 1, 2, 3)],
        "stems": stems(),
        "answers": [dict(text=t, answers=a, exact=answer_scores(t, a)[0], f1=answer_scores(t, a)[1])
                    for t, a in ANSWERS],
        "spans": [span_case(scheme, seed) for scheme in SCHEMES for seed in range(3)],
        "edits": [dict(corpus=name, wer=jiwer.wer([r for _, r in pairs], [t for t, _ in pairs]),
                       cer=jiwer.cer([r for _, r in pairs], [t for t, _ in pairs])) for name, pairs in spoken.items()],
    }
    with open(os.path.join(parser.parse_args().out, "text_metrics.json"), "w", encoding="utf8") as file:
        json.dump(golden, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


main()
