#!/usr/bin/env python3
"""The command lines that are printed work: those of the programs' READMEs, in their --smoke form, and those that
TensorFlow's and FastNN's programs are documented with, whose flags these programs accept.

    published.py SOURCE_ROOT BUILD_ROOT [FOLDER...]

Of these folders of examples only; "others" stands for the lines of others.
"""
import gzip
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
from checking import check, finish, let_mpirun_run, skip  # noqa: E402
from records import write  # noqa: E402

source, build = (os.path.abspath(path) for path in sys.argv[1:3])
wanted = sys.argv[3:]
chance = random.Random(11)


# ---- data that lines name ---------------------------------------------------------------------------------------

def save(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def mnist():
    for part, n in (("train", 64), ("t10k", 32)):
        pixels = b"".join(bytes(255 if 2 * (i % 10) <= k // 28 < 2 * (i % 10) + 9 and 8 < k % 28 < 20 else 0
                                for k in range(784)) for i in range(n))
        save(f"egret-data/mnist/{part}-images-idx3-ubyte.gz", struct.pack(">4i", 2051, n, 28, 28) + pixels)
        save(f"egret-data/mnist/{part}-labels-idx1-ubyte.gz", struct.pack(">2i", 2049, n) + bytes(i % 10 for i in range(n)))


def cifar10():
    """Noise with a bright bar, whose place says which class it is: what a few steps learn."""
    for name, n in (*((f"data_batch_{k}", 8) for k in range(1, 6)), ("test_batch", 8)):
        save(f"egret-data/cifar10/{name}.bin", b"".join(
            bytes([i % 10]) + bytes(chance.randrange(60) + 190 * (k // 32 % 32 // 3 == i % 10) for k in range(3072))
            for i in range(n)))


def records(*names):
    for name, side, channels in (("mnist", 28, 1), ("cifar10", 32, 3)):
        for part, n in (("train", 40), ("test", 24)) if name in names else ():
            os.makedirs("records/" + name, exist_ok=True)
            write(f"records/{name}/{name}_{part}.tfrecord", [i % 10 for i in range(n)], side, channels, chance)


def sentences():
    words = ["Buscan los niños una flor roja", "El perro ve la casa", "Los niños ven una casa roja"]
    save("egret-data/spa-eng/spa.txt", "".join(f"I see {i % 7} things .\t¿{words[i % 3]}?\n" for i in range(200)))


def treebank():
    for part in ("train", "valid", "test"):
        save(f"egret-data/ptb/ptb.{part}.txt", " the company sees a N <unk> and the dog sees the company \n" * 600)


def drawings():
    for word in ("cat", "dog"):
        save(f"simplified/{word}.ndjson", "".join(json.dumps({"word": word, "drawing": [
            [[chance.randrange(256) for _ in range(4)], [chance.randrange(256) for _ in range(4)]] for _ in range(3)]}) + "\n"
            for _ in range(40)))


def book():
    save("FILE", "To be, or not to be, that is the question.\n" * 60)


DATA = {"cvae": [mnist], "dcgan": [mnist], "digits": [mnist], "cifar10": [cifar10], "nmt": [sentences], "ptb": [treebank],
        "quickdraw": [drawings], "chars": [book], "classify": [lambda: records("mnist")],
        "cnn_bench": [lambda: records("cifar10")]}

# Lines that want what is not made here: files of others, a device, a network.
NOT_HERE = re.compile(r"get-data|\bDIR\b|\bFOLDER\b|PHOTO|PICTURE|\.(jpg|png|wav|flac|pth|h5|ckpt|en|de|onnx|txt)\b|--device cuda"
                      r"|egret-data/(facades|speech_commands|multi30k)|LibriSpeech|egret-(convert|weights|onnx) ")
MADE_HERE = re.compile(r"--write DIR|--picture read\.png|rnn_tutorial_data")


# ---- the READMEs' lines -----------------------------------------------------------------------------------------

def printed(text):
    """Command lines of the indented blocks: without what is said behind them, joined where they go on."""
    lines, whole = [], ""
    for line in text.splitlines():
        if not line.startswith("    ") or not line.strip():
            whole = ""
            continue
        part = re.split(r"\s{2,}", line.strip())[0] if not line.endswith("\\") else line.strip()
        whole += part.rstrip("\\")
        if not line.endswith("\\"):
            lines, whole = lines + [whole], ""
    return [line for line in lines if line.startswith("build/examples/")]


def has_smoke(program):
    said = subprocess.run([program, "--help"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    return "\n  --smoke" in said


def run(line, expect=0):
    r = subprocess.run(["bash", "-c", line], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL)
    check(f"{os.path.basename(os.getcwd())}: {line}: status {expect}, was {r.returncode}", r.returncode == expect,
          r.stdout[-3000:])
    return r.stdout


def enter(at, name):
    os.makedirs(f"{at}/{name}", exist_ok=True)
    os.chdir(f"{at}/{name}")
    if not os.path.lexists("build"):
        os.symlink(build, "build")
    for make in DATA.get(name, []):
        make()


def readmes(at):
    for name in sorted(os.listdir(source + "/examples")):
        path = f"{source}/examples/{name}/README.md"
        if not os.path.exists(path) or (wanted and name not in wanted):
            continue
        enter(at, name)
        done, left_out = set(), 0
        for line in printed(open(path, encoding="utf8").read()):
            program = line.split()[0]
            if not os.path.exists(program) or (NOT_HERE.search(line) and not MADE_HERE.search(line)):
                left_out += 1
                continue
            if has_smoke(program) and "--smoke" not in line:
                line += " --smoke"
            if line not in done:
                done.add(line)
                run(line)
        check(f"{name}: a line that can be run", done or left_out)
    if wanted:
        return
    enter(at, "whole")
    mpirun = os.environ.get("EGT_MPIRUN")
    if mpirun and re.search(r"^ +mpirun -n 4 build/examples/digits/digits --batch 64", open(source + "/README.md").read(),
                            re.M):
        let_mpirun_run()
        os.environ["PATH"] = os.path.dirname(mpirun) + ":" + os.environ["PATH"]
        run("mpirun -n 4 build/examples/digits/digits --batch 64 --smoke")
    else:
        skip("no mpirun")


# ---- lines of others ----------------------------------------------------------------------------------------------

CLASSIFY = [  # FastNN's README, TF-Slim's README and walkthrough
    """DATASET_DIR=records/cifar10
TRAIN_FILES=cifar10_train.tfrecord
train_image_classifiers.py \\
    --task_type=pretrain \\
    --enable_paisoar=False \\
    --dataset_name=cifar10 \\
    --train_files=${TRAIN_FILES} \\
    --dataset_dir=${DATASET_DIR} \\
    --model_name=resnet_v1_50""",
    """MODEL_DIR=egret-out/egret-classify
CKPT_FILE_NAME=checkpoint-0000000012.safetensors
DATASET_DIR=records/cifar10
TRAIN_FILES=cifar10_train.tfrecord
train_image_classifiers.py \\
    --task_type=finetune \\
    --enable_paisoar=False \\
    --dataset_name=cifar10 \\
    --train_files=${TRAIN_FILES} \\
    --dataset_dir=${DATASET_DIR} \\
    --model_name=resnet_v1_50 \\
    --model_dir=${MODEL_DIR} \\
    --ckpt_file_name=${CKPT_FILE_NAME} --output_dir=tuned""",
    "train_image_classifiers.py --model_name=lenet --use_fp16=True --hooks=StopAtStepHook,ProfilerHook,LoggingTensorHook,"
    "CheckpointSaverHook --worker_hosts=localhost:5000 --ps_hosts= --task_index=0 --protocol=grpc --num_classes=100",
    "train_image_classifier.py --train_dir=slim --dataset_name=cifar10 --dataset_split_name=train "
    "--dataset_dir=records/cifar10 --model_name=cifarnet --preprocessing_name=cifarnet --max_number_of_steps=100000 "
    "--batch_size=128 --save_interval_secs=120 --save_summaries_secs=120 --log_every_n_steps=100 --optimizer=sgd "
    "--learning_rate=0.1 --learning_rate_decay_factor=0.1 --num_epochs_per_decay=200 --weight_decay=0.004 --num_clones=1",
    "train_image_classifier.py --train_dir=slim/tuned --dataset_dir=records/cifar10 --dataset_name=cifar10 "
    "--dataset_split_name=train --model_name=cifarnet --checkpoint_path=slim --checkpoint_exclude_scopes=logits "
    "--trainable_scopes=logits --learning_rate=0.01 --learning_rate_decay_type=fixed --optimizer=rmsprop",
    "eval_image_classifier.py --task_type=evaluate --alsologtostderr --checkpoint_path=slim --eval_dir=slim "
    "--dataset_dir=records/cifar10 --dataset_name=cifar10 --dataset_split_name=test --model_name=cifarnet",
]
BENCH = [  # the README of tf_cnn_benchmarks, TensorFlow's pages on performance
    "tf_cnn_benchmarks.py --num_gpus=1 --batch_size=32 --model=resnet50 --variable_update=parameter_server",
    "DATA_DIR=records/cifar10 CKPT_DIR=ckpt; tf_cnn_benchmarks.py --data_format=NCHW --batch_size=256 \\\n"
    "--model=resnet20 --optimizer=momentum --variable_update=replicated \\\n"
    "--nodistortions --gradient_repacking=8 --num_gpus=8 \\\n"
    "--num_epochs=90 --weight_decay=1e-4 --data_dir=${DATA_DIR} --use_fp16 \\\n"
    "--train_dir=${CKPT_DIR}",
    "tf_cnn_benchmarks.py --local_parameter_device=cpu --num_gpus=1 --batch_size=64 --model=trivial "
    "--variable_update=parameter_server --device=cpu --data_format=NHWC --kmp_blocktime=0 --mkl=True --num_inter_threads=2 "
    "--num_intra_threads=2 --winograd_nonfused=False --xla=False --use_fp16=True --datasets_use_prefetch=False",
    "tf_cnn_benchmarks.py --model=resnet20 --data_name=cifar10 --data_dir=records/cifar10 --train_dir=ckpt --eval=True "
    "--optimizer=Momentum --num_eval_batches=2 --data_format=nhwc",
]
OTHERS = [
    ("nmt", "nmt", ["nmt.nmt --attention=scaled_luong --src=vi --tgt=en --vocab_prefix=nmt_data/vocab "
                    "--train_prefix=nmt_data/train --dev_prefix=nmt_data/tst2012 --test_prefix=nmt_data/tst2013 "
                    "--out_dir=nmt_attention_model --num_train_steps=12000 --steps_per_stats=100 --num_layers=2 "
                    "--num_units=128 --dropout=0.2 --metrics=bleu",
                    "nmt.nmt --out_dir=nmt_attention_model --inference_input_file=nmt_data/infer.vi "
                    "--inference_output_file=nmt_attention_model/output_infer"]),
    ("ptb", "ptb", ["ptb_word_lm.py --data_path=egret-data/ptb/ --model=small --save_path=saved --use_fp16=False "
                    "--num_gpus=1 --rnn_mode=block"]),
    ("cifar10", "cifar10", ["cifar10_main.py --data-dir=${PWD}/egret-data/cifar10 --job-dir=job --num-gpus=1 "
                            "--train-steps=1000 --num-layers=8",
                            "cifar10_main.py --data-dir=${PWD}/egret-data/cifar10 --job-dir=job2 --num-gpus=2 "
                            "--variable-strategy GPU --sync --train-steps=1000 --num-layers=8 --log-device-placement "
                            "--use-distortion-for-training True --data-format=channels_first"]),
    ("speech", "speech", ["train.py --train_dir=speech_commands_train --model_architecture=tiny_conv --time_shift_ms=100.0 "
                          "--background_volume=0.1 --silence_percentage=10.0 --window_size_ms=30.0 --window_stride_ms=10.0 "
                          "--check_nans=False --quantize=False --summaries_dir=retrain_logs --save_step_interval=100 "
                          "--batch_size=100 --wanted_words=yes,no,up,down --preprocess=mfcc --verbosity=INFO",
                          ]),
    ("quickdraw", "quickdraw", ["train_model.py --data rnn_tutorial_data --cell_type=cudnn_lstm --batch_norm=False "
                                "--num_conv=[48,64,96] --steps=1000000"]),
]


def as_ours(line, program):
    """The script's name is the program's; a --smoke at the end."""
    return re.sub(r"\S*\.(py|nmt) ", f"build/examples/{program} ", line, count=1) + " --smoke"


def of_others(at):
    enter(at, "classify")
    records("cifar10")
    for line in CLASSIFY:
        run(as_ours(line, "classify/egret-classify"))
    enter(at, "cnn_bench")
    for line in BENCH:
        run(as_ours(line, "cnn_bench/egret-cnn-bench"))
    for folder, program, lines in OTHERS:
        if not os.path.exists(f"{build}/examples/{folder}/{program}"):
            skip(f"there is no {program}")
            continue
        enter(at, folder)
        if folder == "quickdraw":
            run("build/examples/quickdraw/create_dataset --ndjson_path simplified --output_path rnn_tutorial_data")
        if folder == "nmt":
            save("nmt_data/train.vi", "con meo nhin thay con cho\ncon cho an ca\n" * 400)
            save("nmt_data/train.en", "the cat sees the dog\nthe dog eats fish\n" * 400)
            save("nmt_data/infer.vi", "con cho an ca\n")
        for line in lines:
            run(as_ours(line, f"{folder}/{program}"))


with tempfile.TemporaryDirectory() as at:
    readmes(at)
    if not wanted or "others" in wanted:
        of_others(at)
    os.chdir("/")

finish()
