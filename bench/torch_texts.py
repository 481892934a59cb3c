"""The other side of `compare.py texts`: Hugging Face's tokenizers or sentencepiece on one core.

    python3 torch_texts.py TOKENIZER TEXT        TOKENIZER: a .json of tokenizers, or a .model of sentencepiece

Answers a line of JSON for each line on stdin:
    about     {"library": ...}
    run US    {"lines": .., "bytes": .., "seconds": ..}"""
import gzip
import itertools
import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
LINES, AT_ONCE = 20000, 1000


def main():
    path, text = sys.argv[1:]
    with (gzip.open if text.endswith(".gz") else open)(text, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in itertools.islice(file, LINES)]
    size = sum(len(line.encode()) for line in lines)
    if path.endswith(".json"):
        import tokenizers
        library, t = f"tokenizers {tokenizers.__version__}", tokenizers.Tokenizer.from_file(path)
        encode = t.encode_batch
    else:
        import sentencepiece
        library, t = f"sentencepiece {sentencepiece.__version__}", sentencepiece.SentencePieceProcessor(model_file=path)

        def encode(some):
            return t.encode(some, num_threads=1)
    for command in sys.stdin:
        if command.startswith("about"):
            print(json.dumps({"library": library}), flush=True)
            continue
        start, budget, done = time.perf_counter(), float(command.split()[1]) * 1e-6, 0
        while not done or time.perf_counter() - start < budget:
            for at in range(0, len(lines), AT_ONCE):
                encode(lines[at:at + AT_ONCE])
            done += 1
        print(json.dumps({"lines": done * len(lines), "bytes": done * size, "seconds": time.perf_counter() - start}),
              flush=True)


if __name__ == "__main__":
    main()
