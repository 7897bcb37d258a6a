#!/usr/bin/env python3
"""Hugging Face's transformers on what ./export writes: the same tokens, the same logits, and a text
that goes on. Needs ./train and ./export, and the packages torch, transformers, tokenizers and
safetensors; without them it says so and ends well.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SMALL = """--n-layer 2 --n-head 4 --n-embd 32 --block-size 24 --batch-size 4 --max-iters 60
           --learning-rate 2e-2 --eval-interval 30 --eval-iters 2 --sample-tokens 0
           --threads 1""".split()
STOCK = {
    "--ffn swiglu": "LlamaForCausalLM",
    "--ffn swiglu --bias --tied": "LlamaForCausalLM",
    "--ffn gelu": "ArceeForCausalLM",
    "--ffn gelu --bias --tied": "ArceeForCausalLM",
    "--position learned --layer-norm layer": "GPT2LMHeadModel",
    "--position learned --layer-norm layer --bias --tied": "GPT2LMHeadModel",
}
OWN = ["--attn cosformer", "--attn softmax --window 5", "--task mlm", "--position none"]


def export(folder, words):
    run, out, text = (os.path.join(folder, name) for name in ("run", "out", "text"))
    with open(text, "w", encoding="utf-8") as f:
        f.write("Once upon a time, na\u00efve \u732b lived\t\u2014 so!\n")
    train = [os.path.join(ROOT, "train"), *SMALL, *words.split(), "--out-dir", run]
    subprocess.run(train, check=True, capture_output=True)
    command = [os.path.join(ROOT, "export"), "--best", run, out, "--text", text]
    subprocess.run([*command, "--logits", os.path.join(folder, "logits")], check=True,
                   capture_output=True)
    return out, text


def check_stock(folder, words, class_name):
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    out, text = export(folder, words)
    ours = load_file(os.path.join(folder, "logits"))
    model, loading = AutoModelForCausalLM.from_pretrained(out, output_loading_info=True)
    assert type(model).__name__ == class_name, type(model)
    assert not any(loading.values()), loading
    with torch.no_grad():
        theirs = model(ours["tokens"][None]).logits[0]
    off = (theirs - ours["logits"]).abs().max().item()
    assert off < 1e-4 and ours["logits"].std() > 0.5, (words, off)

    tokenizer = AutoTokenizer.from_pretrained(out)
    with open(text, encoding="utf-8") as f:
        written = f.read()
    tokens = tokenizer(written)["input_ids"]
    n = len(ours["tokens"])
    assert tokens[:n] == ours["tokens"].tolist(), words
    assert tokenizer.decode(tokens) == written, words
    prompt = tokenizer("Once", return_tensors="pt")
    assert model.generate(**prompt).shape[1] == 24, words
    print(f"{class_name:17} {words:52} {off:.1e}")


def check_own(folder, words):
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    out, text = export(folder, words)
    with open(os.path.join(out, "config.json")) as f:
        config = json.load(f)
    assert config["model_type"] == "attn.c" and config["n_embd"] == 32, config
    assert load_file(os.path.join(out, "model.safetensors"))["embed"].shape[1] == 32
    assert Tokenizer.from_file(os.path.join(out, "tokenizer.json")).encode("Ok").ids == [79, 107]
    again = [os.path.join(ROOT, "export"), os.path.join(out, "model.safetensors"), out + "2"]
    subprocess.run(again, check=True, capture_output=True)
    print(f"{'its own':17} {words}")


def main():
    sys.path.pop(0)  # this folder
    try:
        import safetensors, tokenizers, torch, transformers  # noqa: E401, F401
    except ImportError as why:
        print(f"skipped: {why}")
        return
    if not all(os.path.exists(os.path.join(ROOT, name)) for name in ("train", "export")):
        print("skipped: make ./train and ./export first")
        return
    for words, class_name in STOCK.items():
        with tempfile.TemporaryDirectory() as folder:
            check_stock(folder, words, class_name)
    for words in OWN:
        with tempfile.TemporaryDirectory() as folder:
            check_own(folder, words)


if __name__ == "__main__":
    sys.exit(main())
