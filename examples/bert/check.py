#!/usr/bin/env python3
"""bert, bert-squad and bert-pretrain do what they say: short runs on data of their own and on files made here, figures,
probabilities and answers in files, runs that are killed and go on, sizes from config.json, refusals in words.

    check.py BERT BERT_SQUAD BERT_PRETRAIN
"""
import json
import os
import re
import string
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, needs, runner  # noqa: E402

program = sys.argv[1]
run, squad, pretrain = map(runner, sys.argv[1:4])
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "sat", "ran", "##s", "."]


def pairs(path, n):
    """In MRPC's order: the label, two numbers, two sentences, the same or not."""
    with open(path, "w", encoding="utf8") as file:
        for i in range(n):
            a = f"The {('cat', 'dog')[i % 2]} {('sat', 'ran')[i // 2 % 2]}."
            b = a if i % 3 else f"The {('dog', 'cat')[i % 2]} {('ran', 'sat')[i // 2 % 2]}."
            file.write(f"{int(bool(i % 3))}\t{i}\t{i + 1}\t{a}\t{b}\n")


def normal(text):
    """As SQuAD's script compares answers."""
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def write_squad(path, count):
    """Passages of which one sentence answers; the second half are longer than a window."""
    paragraphs = []
    for i in range(count):
        animal, did = ("cat", "dog")[i % 2], ("sat", "ran")[i // 2 % 2]
        context = "The dogs ran. " * (12 if i > count // 2 else 1) + f"The {animal} {did}."
        begin = context.rindex(did)
        paragraphs.append({"context": context, "qas": [{"id": f"q{i}", "question": f"{animal}?", "answers": [
            {"text": did, "answer_start": begin}, {"text": did + ".", "answer_start": begin}]}]})
    with open(path, "w", encoding="utf8") as file:
        json.dump({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}, file)
    return {p["qas"][0]["id"]: [a["text"] for a in p["qas"][0]["answers"]] for p in paragraphs}


def questions(at, data):
    said = squad("--smoke", "--threads", "1", "--out", at + "/world")
    check("questions about a small world", "64 questions in 64 windows to learn from, 64 in 64" in said, said)
    os.mkdir(at + "/squad")
    write_squad(at + "/squad/train-v1.1.json", 40)
    right = write_squad(at + "/squad/dev-v1.1.json", 16)
    small = ["--data", at + "/squad", "--vocabulary", data + "/vocab.txt", "--smoke", "--threads", "1", "--max-length", "32",
             "--steps", "30"]
    said = squad(*small, "--out", at + "/s")
    check("long passages have windows", "40 questions in 116 windows" in said and "16 in 44" in said, said)
    with open(at + "/s/predictions.json", encoding="utf8") as file:
        answers = json.load(file)
    check("an answer for each", list(answers) == list(right), answers)
    exact = 100 * sum(any(normal(answers[q]) == normal(a) for a in right[q]) for q in right) / len(right)
    check("as many right as it says", f"in the end {exact:.2f} % to the letter" in said, said)
    with open(at + "/s/nbest_predictions.json", encoding="utf8") as file:
        best = json.load(file)
    check("the best is the answer", all(best[q][0]["text"] == answers[q] for q in right))
    for some in best.values():
        check("probabilities fall and are 1 together", abs(sum(x["probability"] for x in some) - 1) < 1e-6 and
              [x["probability"] for x in some] == sorted((x["probability"] for x in some), reverse=True) and
              len({x["text"] for x in some}) == len(some) and set(some[0]) == {"text", "probability", "start_logit",
                                                                              "end_logit"}, some)
    check("only judged", f"{exact:.2f} % to the letter" in squad(*small, "--predict", "--out", at + "/s"))
    kill(10, sys.argv[2], *small, "--save-every", "5", out=at + "/s-killed")
    squad(*small, "--save-every", "5", "--resume", "--out", at + "/s-killed")
    check("killed and resumed, it learns the same", logged(at + "/s-killed", "loss") == logged(at + "/s", "loss"))
    with open(at + "/squad/dev-v1.1.json", "w", encoding="utf8") as file:
        file.write('{"data": [{"paragraphs": [{"context": "x"}]}]}')
    check("a bad file is named", "qas" in squad(*small, "--out", at + "/x", expect=1))
    check("no file", "dev-v1.1.json" in squad("--data", data, "--smoke", "--out", at + "/x", expect=1))


with tempfile.TemporaryDirectory() as at:
    data = at + "/data"
    os.mkdir(data)
    with open(data + "/vocab.txt", "w", encoding="utf8") as file:
        file.writelines(word + "\n" for word in WORDS)
    pairs(data + "/msr_paraphrase_train.txt", 64)
    pairs(data + "/msr_paraphrase_test.txt", 24)
    small = ["--data", data, "--smoke", "--threads", "1", "--rate", "1e-3"]
    needs("utf8proc", program, *small, "--steps", "1", "--out", at + "/first")
    said = run(*small, "--steps", "40", "--out", at + "/whole")
    check("what it reads", "64 pairs to learn from, 24 to be judged by" in said, said)
    losses = logged(at + "/whole", "loss")
    check("it learns", sum(list(losses.values())[-5:]) < sum(list(losses.values())[:5]), losses)
    with open(at + "/whole/eval_results.txt", encoding="utf8") as file:
        figures = dict(line.strip().split(" = ") for line in file)
    check("figures by name", list(figures) == ["eval_accuracy", "eval_f1", "eval_loss", "global_step"] and
          figures["global_step"] == "40", figures)
    with open(at + "/whole/test_results.tsv", encoding="utf8") as file:
        rows = [[float(x) for x in line.split("\t")] for line in file]
    check("probabilities", len(rows) == 24 and all(abs(sum(row) - 1) < 1e-5 for row in rows))
    check("the accuracy is theirs", abs(sum((b > a) == bool(i % 3) for i, (a, b) in enumerate(rows)) / 24 -
                                        float(figures["eval_accuracy"])) < 1e-5)
    check("curves", is_png(at + "/whole/losses.png"))
    said = run(*small, "--predict", "--out", at + "/whole")
    check("only judged", f"{100 * float(figures['eval_accuracy']):.2f} % right" in said, said)
    kill(15, program, *small, "--steps", "40", "--save-every", "5", out=at + "/killed")
    run(*small, "--steps", "40", "--save-every", "5", "--resume", "--out", at + "/killed")
    check("killed and resumed, the losses are the same", logged(at + "/killed", "loss") == losses)

    said = run("--smoke", "--threads", "1", "--steps", "60", "--out", at + "/own")
    check("pairs about a small world", "64 pairs to learn from, 64 to be judged by" in said, said)
    questions(at, data)
    check("sentences about one", "documents" in pretrain("--smoke", "--threads", "1", "--out", at + "/pre-own"))
    with open(at + "/text", "w", encoding="utf8") as file:
        file.writelines(f"The {a} {b} {c}.\n" + "\n" * (i % 8 == 7) for i, (a, b, c) in enumerate(
            [("cat", "sat", "ran"), ("dog", "ran", "ran"), ("cat", "ran", "sats"), ("dog", "sat", "sat")] * 40))
    small_text = ["--data", at + "/text", "--vocabulary", data + "/vocab.txt", "--smoke", "--threads", "1"]
    said = pretrain(*small_text, "--out", at + "/pre")
    check("what it learns from", "840 ids of 160 sentences in 20 documents" in said, said)
    check("what it finds", "of hidden words" in said and is_png(at + "/pre/losses.png"), said)
    kill(6, sys.argv[3], *small_text, "--save-every", "3", out=at + "/pre-killed")
    pretrain(*small_text, "--save-every", "3", "--resume", "--out", at + "/pre-killed")
    check("killed and resumed, it learns the same", logged(at + "/pre-killed", "loss") == logged(at + "/pre", "loss"))
    check("whole words", "of hidden words" in pretrain(*small_text, "--whole-words", "--out", at + "/pre-whole"))
    said = run(*small, "--init", at + "/pre/bert.safetensors", "--size", "tiny", "--vocabulary", data + "/vocab.txt",
               "--out", at + "/from-pre")
    check("bert goes on from it", re.search(r"loaded +31\n", said) and re.search(r"missing +2\n", said), said)
    open(at + "/empty", "w").close()
    said = pretrain("--data", at + "/empty", *small_text[2:], "--out", at + "/x", expect=1)
    check("a text that is none", "no two sentences" in said, said)

    with open(data + "/config.json", "w", encoding="utf8") as file:
        json.dump({"vocab_size": 12, "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_size": 16,
                   "num_attention_heads": 2, "intermediate_size": 24, "num_hidden_layers": 1, "hidden_act": "gelu"}, file)
    said = run(*small, "--init", data, "--out", at + "/x", expect=1)
    check("a folder without weights", data in said, said)
    os.remove(data + "/config.json")
    check("a folder without pairs", "not/there" in run("--data", "not/there", "--vocabulary", data + "/vocab.txt", "--out",
                                                       at + "/x", expect=1))
    with open(data + "/bad.txt", "w", encoding="utf8") as file:
        file.write("the\ncat\n")
    said = run(*small, "--vocabulary", data + "/bad.txt", "--out", at + "/x", expect=1)
    check("a vocabulary without its unknown word", "[UNK]" in said, said)
    check("help", "--init" in run("--help"))
    for wrong in (["--size", "huge"], ["--max-length", "600"], ["--rate", "-1"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
