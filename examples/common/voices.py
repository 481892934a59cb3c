"""What espeak-ng says in many voices: for programs that learn from speech.

    sys.path.insert(0, FOLDER OF THIS FILE)
    from voices import RATE, say_all, voices, write
"""
import array
import concurrent.futures
import subprocess
import sys
import wave

RATE = 22050
ACCENTS = "en-us en-gb en-gb-x-rp en-gb-scotland en-gb-x-gbclan en-gb-x-gbcwmd en-029".split()
VARIANTS = "m1 m2 m3 m4 m5 m6 m7 m8 f1 f2 f3 f4 f5 croak klatt klatt2 klatt3".split()


def voices(count, chance):
    """So many different ones, in any order."""
    kinds = [f"{accent}+{variant}" for accent in ACCENTS for variant in VARIANTS]
    chance.shuffle(kinds)
    if count > len(kinds):
        sys.exit(f"there are {len(kinds)} voices")
    return kinds[:count]


def write(path, samples):
    """16 bits, one channel."""
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, RATE, len(samples), "NONE", ""))
        file.writeframes(samples.tobytes())


def say(text, voice, speed, pitch, path):
    """Makes the file, and gives its samples."""
    subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", path, text], check=True,
                   stderr=subprocess.DEVNULL)
    with wave.open(path) as file:
        assert file.getframerate() == RATE and file.getsampwidth() == 2
        return array.array("h", file.readframes(file.getnframes()))


def say_all(work, one):
    """one(*row) of each row of work, in threads, with a count on a terminal."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for i, _ in enumerate(pool.map(lambda row: one(*row), work)):
            if sys.stdout.isatty():
                print(f"\r{i + 1}/{len(work)}", end="", flush=True)
    if sys.stdout.isatty():
        print()
