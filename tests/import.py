#!/usr/bin/env python3
"""Models and tokenizers of Hugging Face's transformers through ./import: the same tokens, the same
logits, the same loss. Needs ./import, ./export, ./eval and ./tokenize, and the packages torch,
transformers, tokenizers and safetensors; without them it says so and ends well.

    tests/import.py            everything
    tests/import.py llama      the models, tokenizers and faults whose names have this in them
"""
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORPUS = [os.path.join(ROOT, name) for name in ("README.md", "CONTRIBUTING.md", "ops/norm.c")]
VOCAB, CONTEXT = 600, 48
# What a model has beside the common; and how its weights are saved.
LLAMA = dict(hidden_size=32, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=CONTEXT, rms_norm_eps=1e-5)
GPT2 = dict(n_embd=32, n_layer=2, n_head=4, n_positions=CONTEXT)
NEO = dict(hidden_size=32, num_layers=4, num_heads=4, max_position_embeddings=CONTEXT, window_size=9)
MODELS = {
    "llama": dict(LLAMA),
    "llama, tied": dict(LLAMA, tie_word_embeddings=True),
    "llama, shared keys, rope_theta, eps": dict(
        LLAMA, num_key_value_heads=2, rms_norm_eps=1e-6,
        rope_parameters=dict(rope_type="default", rope_theta=500000.0)),
    "llama, one key, biases of attention": dict(LLAMA, num_key_value_heads=1, attention_bias=True),
    "llama, biases of the MLP, bfloat16": dict(LLAMA, mlp_bias=True, dtype="bfloat16"),
    "llama, float16, in pieces": dict(LLAMA, dtype="float16", pieces="20KB"),
    "gpt2": dict(GPT2),
    "gpt2, untied, n_inner, eps": dict(GPT2, n_inner=50, tie_word_embeddings=False,
                                       layer_norm_epsilon=1e-6),
    "gpt2, bfloat16, in pieces": dict(GPT2, dtype="bfloat16", pieces="20KB"),
    "gpt2, float16": dict(GPT2, dtype="float16"),
    "gpt2, base model": dict(GPT2, base=True),
    "gpt_neo": dict(NEO, attention_types=[[["global", "local"], 2]]),
    "gpt_neo, one local layer, untied, odd heads": dict(
        NEO, num_heads=2, hidden_size=36, attention_types=[[["global"], 3], [["local"], 1]],
        intermediate_size=50, tie_word_embeddings=False),
    "gpt_neo, all local, base model, float16": dict(
        NEO, attention_types=[[["local"], 4]], base=True, dtype="float16"),
}
TEXTS = [
    "", " ", "  ", "\n", " \n", "a", "It's we've they'll I'm you're he'd don't 'S 'T 'LL x's's",
    "Hello, world!  Two  spaces\t\ttabs\r\n\r\nlines   ", "a  b   c    d\n  e\n\n\n f \t g",
    "12 345 6,789.00 1st x86 3.14e-5 \u0661\u0662\u0663 \u2160\u2161 \u00bd\u00b2 \u4e00\u4e8c",
    "na\u00efve caf\u00e9 e\u0301 \u00df \u0130 \u01c5 \u02b0 \u0e01\u0e33 \u0939\u093f\u0928\u094d\u0926\u0940",
    "\u00a0\u00a0x\u3000\u3000y\u2003z\u2028w\u0085v\u200b \u200d\ufeff \x1c\x1d\x1e\x1f\x0b\x0c ",
    "\U0001f600\U0001f468\u200d\U0001f469 \U0001f1e9\U0001f1ea! \U00020000\U000323af \U00010400",
    "<|endoftext|><|endoftext|> <|endoftext| <<|endoftext|>> <s><s>a</s> <sep><sep>x<sep",
    "<|endo", "if (x->y != NULL && *p++ == '\\0') { return -1; } /* ... */",
    "\x00\x01\x7f", " \u3000 a \u3000b\u3000", "1 2  3   4\n5 a1b2 '1 's1", "x" * 1000, "-" * 300 + "=" * 300,
]


def run(program, *words, code=0):
    command = [os.path.join(ROOT, program), *words]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == code, (command, done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr.decode()


def texts():
    yield from TEXTS
    letters = ["ab 'sl", "st'dm lvre1!\n\r\t\u00e9\u4e00\u3000", "<|endoftext|> <s>ep", "09 \u0661a\u00bd\n"]
    for seed in range(60):
        r = random.Random(seed)
        if seed % 3 == 0:
            codes = [r.randrange(r.choice([0x80, 0x800, 0x3000, 0x110000])) for _ in range(300)]
            yield "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000)
        else:
            yield "".join(r.choice(letters[seed % len(letters)]) for _ in range(400))
    for name in CORPUS:
        with open(name, encoding="utf-8") as f:
            yield f.read()


def every_character(kind):
    """All that Unicode 17 has, each beside a letter, a number, another and a space."""
    # Numbers of the newest versions, which Digits does not know yet.
    new = {*range(0x11DE0, 0x11DEA), *range(0x16FF4, 0x16FF7)} if kind == "digits" else ()
    for start in range(0, 0x34000, 0x4000):
        codes = (c for c in range(start, start + 0x4000) if not 0xD800 <= c < 0xE000 and c not in new)
        yield "".join(f"a{chr(c)}1{chr(c)}!{chr(c)} {chr(c)}\n" for c in codes)


def learn(kind):
    """A tokenizer as people train them: special tokens first, then bytes, then merges."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = {
        "gpt2": level,
        "digits": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level]),
        "split": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), plain]),
        "end": level,
    }[kind]
    tokenizer.decoder = decoders.ByteLevel()
    special = [] if kind == "end" else ["<|endoftext|>", "<s>", "<sep>", "<sep><sep>"]
    trainer = trainers.BpeTrainer(vocab_size=VOCAB - 9, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train(CORPUS, trainer)
    if kind == "end":  # GPT-2 has it last
        tokenizer.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return tokenizer


def model_of(name, vocab=VOCAB):
    import torch
    import transformers

    torch.manual_seed(3)
    kind = re.match("[a-z0-9_]*", name)[0]
    config_class, model_class = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
        "gpt_neo": (transformers.GPTNeoConfig, transformers.GPTNeoForCausalLM)}[kind]
    skip = ("dtype", "pieces", "base")
    settings = {key: value for key, value in MODELS[name].items() if key not in skip}
    config = config_class(vocab_size=vocab, bos_token_id=0, eos_token_id=0, **settings)
    model = model_class(config).eval()
    with torch.no_grad():  # gains and biases as well
        for key, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * (0.3 if p.ndim > 1 else 0.5) + ("norm" in key or "ln" in key))
    return model.to(getattr(torch, MODELS[name].get("dtype", "float32")))


def save(folder, name, tokenizer):
    """Returns the model that the folder is, in double."""
    model = model_of(name)
    to_save = model.transformer if "base" in MODELS[name] else model
    to_save.save_pretrained(folder, max_shard_size=MODELS[name].get("pieces", "5GB"))
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    if "pieces" in MODELS[name]:
        assert os.path.exists(os.path.join(folder, "model.safetensors.index.json"))
    return type(model).from_pretrained(folder, dtype="float64").eval()


def put(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)
    return path


def loss_of(model, ids):
    """Nats per token as ./eval scores a text: windows of the context side by side; the last one ends
    with the text, and scores what is left."""
    import torch
    from torch.nn import functional as F

    total, done = 0, 0
    while done < len(ids) - 1:
        at = min(done, len(ids) - 1 - CONTEXT)
        x, y = torch.tensor([ids[at : at + CONTEXT]]), torch.tensor(ids[at + 1 : at + CONTEXT + 1])
        losses = F.cross_entropy(model(x).logits[0], y, reduction="none")
        total, done = total + losses[done - at :].sum().item(), at + CONTEXT
    return total / done


def check_model(folder, name, tokenizer):
    import torch
    from safetensors.torch import load_file

    theirs, ours, back = (os.path.join(folder, x) for x in ("theirs", "ours", "back"))
    model = save(theirs, name, tokenizer)
    run("import", theirs, ours)
    with open(CORPUS[1], encoding="utf-8") as f:
        written = f.read()
    text = put(folder, "text", written)
    logits = os.path.join(folder, "logits")
    run("export", ours, back, "--text", text, "--logits", logits)
    got = load_file(logits)
    ids = tokenizer.encode(written, add_special_tokens=False).ids
    assert got["tokens"].tolist() == ids[:CONTEXT]
    with torch.no_grad():
        want = model(got["tokens"][None]).logits[0]
        off = (got["logits"] - want).abs().max().item()
        assert off < 1e-4 and want.std() > 0.5, (name, off, want.std())
        loss = loss_of(model, ids)
    csv = os.path.join(folder, "eval.csv")
    run("eval", ours, text, "--lengths", str(CONTEXT), "--csv", csv)
    with open(csv) as f:
        head, row = (line.strip().split(",") for line in f.read().splitlines()[:2])
    mine = float(dict(zip(head, row))["loss"])
    assert abs(mine - loss) < 1e-4, (name, mine, loss)
    if name.startswith("gpt_neo"):
        check_own(model, got["tokens"], back)
    else:
        check_back(name, theirs, ours, back, folder)
    print(f"{name:38} logits {off:.1e} off, loss {mine:.6f} and {loss:.6f}", flush=True)


def check_back(name, theirs, ours, back, folder):
    """What ./export writes is imported again to the same bits."""
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    again = os.path.join(folder, "again")
    run("import", back, again)
    a, b = (load_file(os.path.join(x, "model.safetensors")) for x in (ours, again))
    assert a.keys() == b.keys() and all(a[key].equal(b[key]) for key in a), name
    model, loading = AutoModelForCausalLM.from_pretrained(back, output_loading_info=True)
    assert not any(loading.values()), loading


def check_own(model, tokens, back):
    """A model with windows is exported with our own class, which computes the same."""
    import torch
    from transformers import AutoModelForCausalLM

    own = AutoModelForCausalLM.from_pretrained(back, trust_remote_code=True, dtype="float64").eval()
    with torch.no_grad():
        off = (own(tokens[None]).logits - model(tokens[None]).logits).abs().max().item()
    assert off < 1e-4, off


def our_tokens(folder, ours, text):
    """The tokens of a text by ./tokenize."""
    words = run("tokenize", "--run", ours, put(folder, "text", text), "--ids")
    return [int(x) for x in words.split()]


def check_tokenizer(folder, kind):
    import torch  # noqa: F401
    from tokenizers import Tokenizer

    theirs, ours, back = (os.path.join(folder, x) for x in ("theirs", "ours", "back"))
    tokenizer = learn(kind)
    save(theirs, "gpt2", tokenizer)
    if kind == "end":  # the two old files
        os.unlink(os.path.join(theirs, "tokenizer.json"))
        tokenizer.model.save(theirs)
        with open(os.path.join(theirs, "vocab.json")) as f:
            vocab = json.load(f)
        vocab["<|endoftext|>"] = tokenizer.token_to_id("<|endoftext|>")
        put(theirs, "vocab.json", json.dumps(vocab))
    run("import", theirs, ours)
    run("export", ours, back)
    again = Tokenizer.from_file(os.path.join(back, "tokenizer.json"))
    n = characters = 0
    every = every_character(kind) if kind in ("gpt2", "digits") else ()
    for text in itertools.chain(texts(), every):
        want = tokenizer.encode(text, add_special_tokens=False).ids
        got = our_tokens(folder, ours, text)
        if got != want:
            at = next(i for i in range(len(want) + 1) if got[: i + 1] != want[: i + 1])
            raise AssertionError((kind, text[:80], at, got[at : at + 5], want[at : at + 5],
                                  tokenizer.decode(want[max(0, at - 3) : at + 3])))
        assert again.encode(text, add_special_tokens=False).ids == want, (kind, text[:60])
        n, characters = n + len(want), characters + len(text)
    print(f"tokenizer {kind:28} {n} tokens of {characters} characters are the same", flush=True)


def edit(folder, name, change):
    with open(os.path.join(folder, name)) as f:
        value = json.load(f)
    change(value)
    put(folder, name, json.dumps(value))


def config_with(**keys):
    return lambda folder: edit(folder, "config.json", lambda c: c.update(keys))


def tokenizer_with(change):
    return lambda folder: edit(folder, "tokenizer.json", change)


SCALED = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=8192)
# What is changed in a folder, and what the message must name.
FAULTS = {
    "llama: scaled rope": (config_with(rope_parameters=SCALED), "llama3"),
    "llama: head_dim": (config_with(head_dim=16), "head_dim is 16"),
    "llama: activation": (config_with(hidden_act="gelu"), "hidden_act is gelu"),
    "llama: eps": (config_with(rms_norm_eps=1e-3), "rms_norm_eps is 0.001"),
    "llama: too many tokens": (config_with(vocab_size=128256), "vocab_size is 128256"),
    "llama: another type": (config_with(model_type="qwen2"), "model_type is qwen2"),
    "llama: a classifier": (config_with(architectures=["LlamaForSequenceClassification"]),
                            "LlamaForSequenceClassification"),
    "llama: one layer fewer": (config_with(num_hidden_layers=1), "model.layers.1"),
    "llama: one layer more": (config_with(num_hidden_layers=3), "has no tensor model.layers.2"),
    "gpt2: erf": (config_with(activation_function="gelu"), "activation_function is gelu"),
    "gpt2: scores by layer": (config_with(scale_attn_by_inverse_layer_idx=True),
                              "scale_attn_by_inverse_layer_idx is true"),
    "gpt2: n_embd": (config_with(n_embd=36), "must be [600,36]"),
    "gpt_neo: kinds": (config_with(attention_types=[[["global", "strided"], 2]]),
                       "attention_types must say of each of the 4 layers"),
    "gpt_neo: fewer layers": (config_with(attention_types=[[["global", "local"], 1]]),
                              "attention_types must say of each of the 4 layers"),
    "gpt_neo: erf": (config_with(activation_function="gelu"), "activation_function is gelu"),
    "gpt_neo: a window of one": (config_with(window_size=1), "window_size is 1"),
    "tokenizer: prefix space": (
        tokenizer_with(lambda t: t["pre_tokenizer"].update(add_prefix_space=True)), "add_prefix_space"),
    "tokenizer: normalizer": (tokenizer_with(lambda t: t.update(normalizer={"type": "NFC"})), "NFC"),
    "tokenizer: merges unsorted": (tokenizer_with(lambda t: t["model"]["merges"].reverse()), "merge"),
    "tokenizer: unigram": (tokenizer_with(lambda t: t["model"].update(type="Unigram")), "Unigram"),
    "tokenizer: whitespace": (
        tokenizer_with(lambda t: t.update(pre_tokenizer={"type": "Whitespace"})), "Whitespace"),
}


def check_fault(folder, name, change, words, tokenizer):
    theirs, ours = os.path.join(folder, "theirs"), os.path.join(folder, "ours")
    kind = name.split(":")[0]
    save(theirs, kind if kind in MODELS else "llama", tokenizer)
    change(theirs)
    said = run("import", theirs, ours, code=5)
    assert words in said and said.count("\n") == 1 and said.startswith("attn.c: error: "), said
    assert not os.path.exists(ours), name
    print(f"{name:38} {re.sub(folder + '/', '', said[15:]).strip()}", flush=True)


def with_folder(check, *words):
    with tempfile.TemporaryDirectory() as folder:
        return check(folder, *words)


def main():
    sys.path.pop(0)  # this folder
    try:
        import safetensors, tokenizers, torch, transformers  # noqa: E401, F401
    except ImportError as why:
        print(f"skipped: {why}")
        return
    torch.set_num_threads(1)
    needed = ("import", "export", "eval", "tokenize")
    if not all(os.path.exists(os.path.join(ROOT, name)) for name in needed):
        print("skipped: make ./import, ./export, ./eval and ./tokenize first")
        return
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    tokenizer = learn("gpt2")
    for name in MODELS:
        if wanted in name:
            with_folder(check_model, name, tokenizer)
    for kind in ("gpt2", "digits", "split", "end"):
        if wanted in f"tokenizer {kind}":
            with_folder(check_tokenizer, kind)
    for name, (change, words) in FAULTS.items():
        if wanted in name:
            with_folder(check_fault, name, change, words, tokenizer)
    if not wanted:
        print("all passed")


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    sys.exit(main())
