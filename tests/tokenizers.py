#!/usr/bin/env python3
"""Compares ./tokenize with Hugging Face's tokenizers, if there is such a package: the tokenizer.json
that it writes gives every text the same tokens, and these lead back to the text.

    pip install tokenizers && python3 tests/tokenizers.py [TEXT...]

A TEXT is a file that is learned from and encoded, as the built-in ones are."""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

# This file has the name of the package: without its folder in the path, the package is found.
here = pathlib.Path(__file__).resolve().parent
sys.path[:] = [folder for folder in sys.path if pathlib.Path(folder or ".").resolve() != here]
try:
    from tokenizers import Tokenizer
except ImportError:
    print("skipped: python3 has no package tokenizers")
    sys.exit(0)

program = here.parent / "tokenize"
if not program.exists():
    print("skipped: there is no ./tokenize; make builds it")
    sys.exit(0)
words = ["byte", "char", "bpe:257", "bpe:300", "bpe:1000"]


def noise(seed, letters, length):
    r = random.Random(seed)
    return "".join(r.choice(letters) for _ in range(length))


def any_characters(seed, length):
    r = random.Random(seed)
    codes = [r.randrange(r.choice([0x80, 0x800, 0x110000])) for _ in range(length)]
    return "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000)


def texts():
    yield "empty", ""
    yield "a space", " "
    yield "ascii", "".join(map(chr, range(128))) * 3
    yield "words", "It's what we've said: they'll go. 'Tis 12 o'clock!  \n\n  Well,\tyes.\r\n" * 20
    yield "spaces", "a\u00a0b\u2003c\u3000d\u0085e\u2028f\ufeff g\x1c\x1d\x1e\x1fh" * 10
    yield "emoji", "\U0001f600\U0001f468\u200d\U0001f469 \U0001f1e9\U0001f1ea! e\u0301 \ufe0f" * 9
    yield "chinese", "\u4e00\u4e8c\u4e09\uff0c\u4e00\u4e8c\u3002\u56db abc\u4e00\n" * 12
    yield "literal", "<0x80><0xE4> \u0120\u010a \u00e4 \u2581 <unk> \u4e00" * 5
    yield "one letter", "a" * 100000
    yield "white space", " " * 50000 + "x" + "\n" * 50000 + " \t" * 1000 + "y \n"
    for seed in range(40):
        yield f"letters {seed}", noise(seed, "ab", 300)
        yield f"pieces {seed}", noise(seed, "st'dm lvre1!\n\r\t\u00e9\u4e00\u3000", 500)
        yield f"anything {seed}", any_characters(seed, 400)


def ours(word, learned, text, folder):
    (folder / "learned").write_bytes(learned.encode())
    (folder / "text").write_bytes(text.encode())
    run = [program, "--tokenizer", word, "--check", "--ids", "--json", folder / "json"]
    run += ["--text", folder / "text", folder / "learned"]
    done = subprocess.run(run, capture_output=True, check=True)
    return list(map(int, done.stdout.split()))


def unique(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def differs(word, learned, text, folder):
    ids = ours(word, learned, text, folder)
    json.loads((folder / "json").read_text("utf-8"), object_pairs_hook=unique)
    theirs = Tokenizer.from_file(str(folder / "json"))
    return theirs.encode(text).ids != ids or theirs.decode(ids) != text


def main():
    files = [(path, pathlib.Path(path).read_bytes().decode("utf-8")) for path in sys.argv[1:]]
    failed = compared = 0
    everything = "".join(text for _, text in texts())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for word in words:
            for about, text in [*texts(), *files]:
                for learned in text, everything:
                    compared += 1
                    if differs(word, learned, text, folder):
                        print(f"FAILED: {word} on {about}")
                        failed += 1
    print(f"{compared} texts compared, {failed} differ")
    return failed > 0


sys.exit(main())
