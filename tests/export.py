#!/usr/bin/env python3
"""Hugging Face's transformers on what ./export writes: the same tokens, the same logits, and a text
that goes on. Needs ./train, ./sample and ./export, and the packages torch, transformers, tokenizers
and safetensors; without them it says so and ends well.

    tests/export.py                everything
    tests/export.py cosformer gau  these mechanisms only; stock: models with standard classes; lists:
                                   models with several mechanisms; texts: what models generate;
                                   library: what transformers does with a model
    tests/export.py --bugs         breaks the Python files in many ways; each must be noticed
    tests/export.py --bugs gla     those whose name or options have a word
"""
import contextlib
import copy
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SMALL = """--n-layer 2 --n-head 4 --n-embd 32 --batch-size 4 --learning-rate 2e-2 --eval-iters 2
           --sample-tokens 0 --threads 1 --warmup-iters 5""".split()
TEXT = "Once upon a time, na\u00efve \u732b lived\t\u2014 so!\n"
STOCK = {
    "--ffn swiglu": "LlamaForCausalLM",
    "--ffn swiglu --bias --tied": "LlamaForCausalLM",
    "--ffn swiglu --n-kv-head 2": "LlamaForCausalLM",
    "--ffn swiglu --n-inner 40 --rope-base 500 --norm-eps 1e-6": "LlamaForCausalLM",
    "--ffn gelu": "ArceeForCausalLM",
    "--ffn gelu --bias --tied --n-kv-head 1": "ArceeForCausalLM",
    "--position learned --layer-norm layer --n-inner 40 --norm-eps 1e-6": "GPT2LMHeadModel",
    "--position learned --layer-norm layer --bias --tied": "GPT2LMHeadModel",
}
# Options of each mechanism, with every setting of it at least once; the first is as it comes.
AROUND_QKV = ["--conv 3 --qk-norm l2", "--conv 1 --no-conv-silu --qk-norm rms"]
HEADS = ["--key-size 6", "--out-norm rms --out-gate", "--out-norm all --out-gate --n-kv-head 1",
         "--conv 3 --qk-norm rms --n-kv-head 2", *AROUND_QKV]
BANDED = [*HEADS, "--window 5"]
LINEAR = [*BANDED, "--position rope --rope-at before"]
PATTERN = ["--rope-base 500", "--scale entropy --base 20", "--weight relu2 --scale logn --base 9", *HEADS]
FADING = ["--no-out-gate --out-norm none", "--out-norm all --key-size 6", "--position none --n-kv-head 2", *AROUND_QKV]
DELTA = ["--no-out-gate --out-norm none", "--out-gate --out-norm all --key-size 6 --n-kv-head 2", "--negative --conv 3",
         "--conv 2 --no-conv-silu --qk-norm rms --negative", "--conv 0"]
OWN = {
    "softmax": ["--position sinusoidal", "--rope-base 500 --window 7", "--scale entropy --base 20",
                "--scale logn --base 9", "--weight softmax1", "--weight sink", "--weight sigmoid", "--weight relu",
                "--weight relu2 --window 5", "--weight laplace --scale logn --base 9", *BANDED],
    "longformer": ["--reach 3", "--reach 2 --global 3", "--reach 1 --global 0 --weight sigmoid", *PATTERN],
    "bigbird": ["--reach 1 --block 3", "--reach 2 --random 2 --block 2", "--random 1 --global 0 --reach 1 --block 4 --pattern-seed 9",
                *[f"--reach 1 --block 3 {words}" for words in PATTERN]],
    "sparse": ["--reach 3", "--reach 5", *[f"--reach 4 {words}" for words in PATTERN]],
    "local": ["--block 5", "--block 7", *[f"--block 6 {words}" for words in PATTERN]],
    "relu": ["", "--rope-base 500", "--position rope --rope-at before --rope-base 500", *LINEAR],
    "elu": ["", *LINEAR],
    "exp": ["", *LINEAR],
    "cosformer": ["", "--horizon 40", "--position none", "--rope-ladder 2d", *BANDED],
    "performer": ["", "--features 10", "--kernel relu", "--learn-omega --kernel relu", "--redraw 7", *LINEAR],
    "efficient": ["", *LINEAR],
    "identity": ["", *LINEAR],
    "leaky": ["", *LINEAR],
    "hedgehog": ["", "--position rope --rope-at after", *LINEAR],
    "based": ["", "--key-size 0 --position learned", *LINEAR],
    "rfa": ["", "--features 10", "--learn-omega", "--gated", "--gated --position none --out-norm rms",
            "--gated --learn-omega --position rope --rope-at before", *LINEAR],
    "retnet": ["", "--decay 2", *FADING],
    "decay": ["", *FADING],
    "lightning": ["", "--slopes alibi", "--conv 3 --no-conv-silu", *FADING],
    "mamba2": ["--conv 3", "--no-share-keys --conv 3 --n-kv-head 2", "--no-skip --conv 5", "--conv 1 --no-conv-silu --qk-norm l2",
               "--out-norm rms --key-size 6 --conv 3", "--out-norm none --no-out-gate --qk-norm rms --conv 3"],
    "deltanet": ["", *DELTA],
    "gated-delta": ["", *DELTA],
    "kda": ["", *DELTA],
    "rwkv7": ["", *FADING],
    "gla": ["", *FADING],
    "fastformer": ["", "--interaction add", "--interaction concat --share qv,layers",
                   "--interaction concat --share layers,pools", "--interaction add --products first",
                   "--interaction concat --share heads --bias", *AROUND_QKV,
                   "--share qv,layers --conv 3 --qk-norm rms"],
    "gau": ["", "--norm fixed --base 20", "--norm n2", "--norm sum", "--norm softmax",
            "--norm entropy", "--norm logn --base 9", "--key-size 10 --no-gate", "--window 5",
            "--n-head 1", "--rel-bias rope --n-head 2 --norm softmax", "--conv 3 --qk-norm l2",
            "--conv 1 --qk-norm rms --n-head 2"],
    "flash-gau": ["", "--chunk 5", "--chunk 7 --key-size 10 --no-gate",
                  "--rel-bias rope --n-head 2", "--conv 3 --qk-norm rms --chunk 5", "--qk-norm l2"],
    "synthesizer": ["", "--kind random --n-kv-head 2", "--out-norm rms --out-gate", "--out-norm all --kind random"],
    "poolingformer": ["", "--near 3 --far 9", "--near 2 --far 12 --pool-size 3 --pool-stride 2",
                      "--near 6 --far 7 --pool-size 2 --pool-stride 5", *HEADS],
    "reformer": ["--chunk 3", "--chunk 2 --buckets 4", "--chunk 4 --rounds 3 --buckets 6", "--chunk 2 --key-size 6",
                 "--chunk 3 --out-norm rms --out-gate", "--chunk 3 --out-norm all --rounds 1"],
}
# Settings that only causal models have, and mechanisms of masked models alone.
CAUSAL = {
    "softmax": ["--weight forgetting", "--weight forgetting --window 5 --scale entropy --base 20"],
    "longformer": ["--reach 3 --weight forgetting"],
    "gau": ["--norm forgetting", "--norm forgetting --window 5 --rel-bias rope --n-head 2"],
    "retnet": ["--conv 4", "--conv 2 --no-conv-silu"],
}
MASKED = {
    "linformer": ["", "--rank 5", *HEADS],
    "nystromformer": ["--landmarks 5", "--landmarks 7", "--landmarks 30",
                      *[f"--landmarks 4 {words}" for words in HEADS]],
}
# Lists, whose layers take turns.
LISTS = ["--attn retnet,softmax:window=5 --n-layer 3",
         "--attn fastformer:share=layers+qv,cosformer:horizon=40,fastformer:share=layers+qv,relu --n-layer 5",
         "--attn lightning:slopes=alibi,deltanet:negative:conv=3,longformer:reach=2:weight=sigmoid --n-layer 3",
         "--attn gau:norm=softmax,flash-gau:chunk=5 --learning-rate 4e-3",
         "--attn mamba2:conv=3,synthesizer:kind=random,rfa:gated --n-layer 4",
         "--attn retnet,deltanet:conv=3,poolingformer:near=3,efficient --position rope --n-layer 4"]
# What is the same for all of them.
AROUND = ["--position learned --ffn swiglu --n-inner 40 --norm-eps 1e-6 --bias --tied", "--position none --layer-norm layer --bias"]
SOURCES = ("mechanisms_attnc.py", "modeling_attnc.py")
# In float, beside what float costs in that row; and in double, one way of computing against another.
NEAR, SAME = 1e-5, 1e-6


def run(program, *words):
    command = [os.path.join(ROOT, program), *words]
    return subprocess.run(command, check=True, capture_output=True).stdout


def export(folder, words, context=24, steps=60):
    """Trains on the built-in stories, which do not change."""
    trained, out, text = (os.path.join(folder, name) for name in ("run", "out", "text"))
    with open(text, "w", encoding="utf-8") as f:
        f.write(TEXT)
    run("train", *SMALL, "--block-size", str(context), "--max-iters", str(steps), *words.split(),
        "--out-dir", trained)
    run("export", trained, out, "--text", text, "--logits", os.path.join(folder, "logits"))
    return out, text


def load(out, kind="AutoModelForCausalLM", **options):
    import transformers

    model, loading = getattr(transformers, kind).from_pretrained(
        out, output_loading_info=True, **options)
    assert not any(loading.values()), loading
    return model


def distance(a, b):
    assert a.shape == b.shape and a.isfinite().all() and b.isfinite().all()
    return (a - b).abs().max().item()


@contextlib.contextmanager
def no_warnings():
    """Neither Python nor transformers has anything to say."""
    from transformers.utils import logging as theirs

    said = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())
    theirs.get_logger("transformers").addHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    theirs.get_logger("transformers").removeHandler(handler)
    said += [str(w.message) for w in caught]
    assert not said, said


def check_tokenizer(out, text, tokens):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(out, trust_remote_code=True)
    with open(text, encoding="utf-8") as f:
        written = f.read()
    ids = tokenizer(written, verbose=False)["input_ids"]
    assert ids[: len(tokens)] == tokens.tolist(), ids
    assert tokenizer.decode(ids) == written
    return tokenizer


def check_stock(folder, words, class_name):
    import torch
    from safetensors.torch import load_file

    out, text = export(folder, words)
    ours = load_file(os.path.join(folder, "logits"))
    model = load(out)
    assert type(model).__name__ == class_name, type(model)
    with torch.no_grad():
        off = distance(model(ours["tokens"][None]).logits[0], ours["logits"])
    assert off < 1e-4 and ours["logits"].std() > 0.5, (words, off)
    prompt = check_tokenizer(out, text, ours["tokens"])("Once", return_tensors="pt")
    with no_warnings():
        assert model.generate(**prompt, max_new_tokens=9).shape[1] == prompt["input_ids"].shape[1] + 9, words
    print(f"{class_name:17} {words:52} {off:.1e}")


def pieces(model, size):
    """Makes causal mechanisms read in pieces of this size."""
    for module in model.modules():
        if hasattr(module, "mix"):
            module.mix.step = min(size, module.mix.step)


def name_of_cache():
    """What this version of transformers calls it, in arguments and outputs."""
    import dataclasses
    from transformers.modeling_outputs import CausalLMOutputWithPast

    return [f.name for f in dataclasses.fields(CausalLMOutputWithPast)][2]


def check_causal(model, tokens, whole):
    """In pieces, token by token, and in a batch with padding on either side, it is the same."""
    import torch

    n, off = len(tokens), []
    long = tokens.repeat(1 if model.model.ends else 3)[None]  # beyond the context
    beyond = model(long).logits
    pieces(model, 5)
    off.append(distance(model(tokens[None]).logits[0], whole))
    off.append(distance(model(long).logits, beyond))
    name, rows, cache = name_of_cache(), [], None
    for i in range(n):
        step = model(tokens[None, i : i + 1], **{name: cache}, use_cache=True)
        cache = step[name]
        rows.append(step.logits[0, 0])
    assert cache.get_seq_length() == n
    off.append(distance(torch.stack(rows), whole))

    short = n - 7
    batch, mask = tokens.repeat(3, 1), torch.ones(3, n, dtype=torch.long)
    mask[1, short:], mask[2, : n - short] = 0, 0
    batch[2, n - short :] = tokens[:short]
    got = model(batch, attention_mask=mask).logits
    off += [distance(got[0], whole), distance(got[1, :short], whole[:short]),
            distance(got[2, n - short :], whole[:short])]

    # a prompt with padding, then the rest of one and the same text
    first = model(batch[1:, : n - 2], attention_mask=mask[1:, : n - 2], use_cache=True)
    more = torch.stack([tokens[short : short + 2], tokens[short - 2 : short]])
    wide = torch.cat((mask[1:, : n - 2], torch.ones(2, 2, dtype=torch.long)), 1)
    then = model(more, attention_mask=wide, **{name: first[name]}).logits
    off += [distance(then[0], whole[short : short + 2]), distance(then[1], whole[short - 2 : short])]
    return max(off)


def check_both_sides(model, tokens, whole):
    """The padding of a shorter sequence changes nothing."""
    import torch

    n, short = len(tokens), len(tokens) - 7
    alone = model(tokens[None, :short]).logits[0]
    masks = torch.ones(4, n, dtype=torch.long)
    masks[1, short:], masks[2, : n - short], masks[3, 5 : n - short + 5] = 0, 0, 0
    batch = tokens.repeat(4, 1)
    for row, mask in zip(batch[1:], masks[1:]):
        row[mask == 1] = tokens[:short]
    got = model(batch, attention_mask=masks).logits
    beyond = torch.cat((batch, batch[:, :9]), 1), torch.cat((masks, torch.zeros_like(masks[:, :9])), 1)
    longer = model(beyond[0], attention_mask=beyond[1]).logits[:, :n]  # than the context
    return max(distance(got[0], whole), distance(longer[0], whole),
               *(distance(x[mask == 1], alone) for rows in (got, longer) for x, mask in zip(rows[1:], masks[1:])))


def check_learning(model, tokens):
    """The loss is that of the logits, and every parameter that is trained has a gradient."""
    from torch.nn import functional as F

    model.train()
    out = model(tokens[None], labels=tokens[None])
    causal = model.config.task == "causal"
    logits, labels = (out.logits[0, :-1], tokens[1:]) if causal else (out.logits[0], tokens)
    assert distance(out.loss, F.cross_entropy(logits, labels)) < 1e-5
    out.loss.backward()
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    fixed = {name for name, _ in model.named_buffers() if name.endswith("omega.weight")}
    omegas = {name for name in model.state_dict() if name.endswith("omega.weight")}
    assert fixed == (set() if getattr(model.config, "learn_omega", 0) else omegas), fixed
    for name, p in trained:
        assert p.grad is not None and p.grad.isfinite().all(), name
    still = [name for name, p in trained if p.grad.abs().max() == 0]
    gated = model.config.attn in ("gau", "flash-gau")
    assert len(still) < len(trained) * (0.9 if gated else 0.1), still  # a unit's A may be all 0
    model.zero_grad()
    model.eval()


def in_float(model, tokens):
    """The logits, and those of weights that differ by a rounding error, so as to round otherwise."""
    import torch

    torch.manual_seed(1)
    all_logits = [model(tokens[None]).logits[0]]
    for _ in range(3):
        other = copy.deepcopy(model)
        for p in other.parameters():
            p.mul_(1 + 6e-8 * torch.randn_like(p))
        all_logits.append(other(tokens[None]).logits[0])
    return torch.stack(all_logits)


def compare(out, folder, words):
    """The model of a folder against the program's logits."""
    import torch
    from safetensors.torch import load_file

    masked = "mlm" in words
    ours = load_file(os.path.join(folder, "logits"))
    tokens, want = ours["tokens"], ours["logits"]
    kind = "AutoModelForMaskedLM" if masked else "AutoModelForCausalLM"
    model = load(out, kind, trust_remote_code=True)
    with torch.no_grad():
        got = in_float(model, tokens)
        whole = model.double()(tokens[None]).logits[0]
        off, noise = (want - got[0]).abs().amax(-1), (whole - got).abs().amax((0, -1))
        assert (off < NEAR * max(1, want.abs().max()) + 2 * noise).all(), (words, off.max().item())
        assert noise.median() < NEAR and want.std() > 0.3, (words, noise.median(), want.std())
        far = (check_both_sides if masked else check_causal)(model, tokens, whole)
    assert far < SAME, (words, far)
    check_learning(model, tokens)
    return off.max().item(), far, tokens


def check_own(folder, words):
    out, text = export(folder, words)
    with no_warnings():
        off, far, tokens = compare(out, folder, words)
    tokenizer = check_tokenizer(out, text, tokens)
    if "mlm" in words:
        assert tokenizer.mask_token_id == len(tokenizer) - 1 == 256
    if "--layer-norm layer" in words:
        check_new(out)
    print(f"{words:72} {off:.1e} {far:.1e}", flush=True)
    with open(os.path.join(out, "config.json")) as f:
        return json.load(f)


def check_text(folder, words, context):
    """200 tokens are those of ./sample, with the cache and without it."""
    import torch
    from transformers import AutoTokenizer

    out, _ = export(folder, words + " --learning-rate 6e-3", context, 300)
    model = load(out, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(out, trust_remote_code=True)
    for text in ("Once upon", "The fox saw a bird. It", "zq"):
        prompt = tokenizer(text, return_tensors="pt")
        with no_warnings():
            got = model.generate(**prompt, do_sample=False, max_new_tokens=200)
            again = model.generate(**prompt, do_sample=False, max_new_tokens=200, use_cache=False)
        want = run("sample", os.path.join(folder, "run"), "--temperature", "0", "--raw", "--threads",
                   "1", "--extrapolate", "--prompt", text, "--tokens", "200")[: len(text) + 200]
        assert bytes(got[0].tolist()) == want, (words, bytes(got[0].tolist()), want)
        assert torch.equal(got, again), words
        print(f"{words}, context {context}, 200 tokens: {want[:60]}", flush=True)
    return out, model


def check_library(folder):
    """What people do with a model: a pipeline, beams, batches, saving it."""
    import torch
    from transformers import AutoModel, AutoTokenizer, pipeline

    out, model = check_text(folder, "--attn cosformer --position none --tied", 64)
    with no_warnings():
        write = pipeline("text-generation", model=out, trust_remote_code=True)
        assert write("Once", max_new_tokens=5, do_sample=False)[0]["generated_text"].startswith("Once")
    tokenizer = AutoTokenizer.from_pretrained(out, trust_remote_code=True)
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)
    assert tokenizer(["\u0100", "a"], padding=True)["input_ids"] == [[196, 128], [97, 0]]
    one = model.generate(**tokenizer("Once", return_tensors="pt"), do_sample=False, max_new_tokens=9)
    two = model.generate(input_ids=torch.cat((torch.tensor([[0, 0]]), one[:, :4]), 1).repeat(2, 1),
                         attention_mask=torch.tensor([[0, 0, 1, 1, 1, 1]] * 2),
                         do_sample=False, max_new_tokens=9)
    assert torch.equal(two[0, 2:], one[0]) and torch.equal(two[1], two[0])
    beams = [model.generate(one[:, :4], attention_mask=torch.ones(1, 4), num_beams=3, use_cache=cache,
                            do_sample=False, max_new_tokens=9) for cache in (True, False)]
    assert torch.equal(*beams)
    assert model.generate(one[:, :4], attention_mask=torch.ones(1, 4), do_sample=True,
                          num_return_sequences=2, max_new_tokens=5).shape == (2, 9)

    places = torch.arange(one.shape[1])[None]
    assert torch.equal(model(one, position_ids=places).logits, model(one).logits)
    try:
        model(one, position_ids=places % 4)
        raise AssertionError("two texts in a row")
    except ValueError as why:
        assert "position_ids" in str(why)

    saved = os.path.join(folder, "saved")
    model.save_pretrained(saved)
    assert {*SOURCES, "configuration_attnc.py"} <= set(os.listdir(saved))
    again = load(saved, trust_remote_code=True)
    assert distance(again(one).logits, model(one).logits) == 0
    assert again.head.weight is again.model.embed.weight
    base = load(out, "AutoModel", trust_remote_code=True)
    assert distance(base(one).last_hidden_state @ model.head.weight.T, model(one).logits) < 1e-5
    half = AutoModel.from_pretrained(out, trust_remote_code=True, dtype=torch.bfloat16)
    assert half(one).last_hidden_state.isfinite().all()
    print("pipeline, batches, beams, saving, the base model, bfloat16: as they should be")


# Mechanisms with states of all kinds, also of convolutions.
STATES = """--attn mamba2,reformer:chunk=5:buckets=4,softmax:weight=forgetting:conv=3:qk-norm=l2,kda,
           longformer:reach=5,poolingformer:near=3:far=9,retnet:conv=2 --n-layer 7 --position none"""


def check_states(folder):
    """Beams, whose states change places, and numbers of half the size."""
    import torch
    from transformers import AutoModel

    out, _ = export(folder, "".join(STATES.split("\n           ")))
    model = load(out, trust_remote_code=True)
    start = torch.tensor([[79, 110, 99, 101], [84, 104, 101, 32]])
    beams = [model.generate(start, attention_mask=torch.ones(2, 4), num_beams=3, use_cache=cache,
                            do_sample=False, max_new_tokens=30) for cache in (True, False)]
    assert torch.equal(*beams) and beams[0].shape == (2, 34)
    base = AutoModel.from_pretrained(out, trust_remote_code=True)
    half = AutoModel.from_pretrained(out, trust_remote_code=True, dtype=torch.bfloat16)
    off = distance(half(start).last_hidden_state.float(), base(start).last_hidden_state)
    assert half.dtype == torch.bfloat16 and off < 0.2, off
    print(f"beams of a list, bfloat16 {off:.1e}: as they should be")


def check_new(out):
    """A model that begins with random numbers trains."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(1)
    config = AutoConfig.from_pretrained(out, trust_remote_code=True)
    model = AutoModelForCausalLM.from_config(config, trust_remote_code=True)
    tokens = torch.randint(0, 256, (4, 24))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(30):
        loss = model(tokens, labels=tokens).loss
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - 5.55) < 0.3 and losses[-1] < losses[0] / 2, losses


# Name, options, and what to replace by what; the first occurrence.
BUGS = [
    ("the scale of scores", "softmax --position none", "math.sqrt(q.shape[-1])", "q.shape[-1]"),
    ("entropy's floor", "softmax --scale entropy --base 20", "clamp(min=16)", "clamp(min=8)"),
    ("logn's floor", "softmax --scale logn --base 9", ".clamp(min=1)\n        return", "\n        return"),
    ("a window one wider", "softmax --window 5", "<= self.config.window", "< self.config.window"),
    ("keys dropped too early", "softmax --window 5", "t.pos[:, -1:] + 1", "t.pos[:, -1:] + 2"),
    ("RoPE's base", "relu", "base ** (-pair", "(base / 10) ** (-pair"),
    ("RoPE in the denominator", "relu", "c = (f * z_i)", "c = (g * z_i)"),
    ("padding counts as keys", "elu", "t.mask(self.psi(self.ready(k, t), t, **own))",
     "self.psi(self.ready(k, t), t, **own)"),
    ("positions of padding", "cosformer", "(real != 0).long().cumsum(1)",
     "torch.ones_like(real).long().cumsum(1)"),
    ("a horizon of padding", "cosformer --task mlm", "t.real.sum(1).clamp(min=self.M)",
     "torch.ones_like(t.pos).sum(1).clamp(min=self.M)"),
    ("cosformer's angle", "cosformer", "math.pi / (2 * M)", "math.pi / (2 * M + 1)"),
    ("cosformer's states", "cosformer", "now = c[:, :, -1:]", "now = c[:, :, :1]"),
    ("exp's rescaling", "exp", "(q - top.detach()).exp()", "(q - top.detach().mean(2, True)).exp() * q.shape[2] ** 0"
     " * (1 + 1e-3 * q)"),
    ("reach one short", "longformer --reach 3", "<= self.reach) | (i", "< self.reach) | (i"),
    ("global rows", "longformer --reach 2 --global 3 --task mlm", "| (i < self.first) ", ""),
    ("global keys", "longformer --reach 2 --global 3", " | (j < self.first)\n", "\n"),
    ("global keys dropped", "longformer --reach 2", "only(seen, keys, *of)",
     "only(seen & (keys.pos[0] > 0), keys, *of)"),
    ("other random blocks", "bigbird --reach 1 --block 2", "for part in (seed, 11, c)", "for part in (seed, 12, c)"),
    ("the same random blocks for every seed", "bigbird --reach 1 --block 2", "self.r, self.seed = config.random, config.pattern_seed",
     "self.r, self.seed = config.random, 1"),
    ("Floyd's last", "bigbird --reach 1 --block 2", "drawn.append(last if number in drawn else number)",
     "drawn.append(number)"),
    ("a block's own number", "bigbird --reach 1 --block 2 --random 2 --task mlm", "number + (number >= c)",
     "number"),
    ("blocks before", "bigbird --reach 1 --block 2 --random 1", "n = c if self.causal", "n = c + 1 if self.causal"),
    ("sparse keys", "sparse --reach 3", "(far % w == 0)", "(far % (w + 1) == 0)"),
    ("a block one longer", "local --block 5", "t.pos[:, :, None] // self.C == keys.pos[:, None, :] // self.C\n        return super()",
     "t.pos[:, :, None] // (self.C + 1) == keys.pos[:, None, :] // (self.C + 1)\n        return super()"),
    ("forgetting from the key on", "softmax --weight forgetting", "fade[:, :, None] + G[..., None]",
     "fade[:, :, None] + G[..., None] - F.logsigmoid(g)[..., None]"),
    ("forgetting's state", "softmax --weight forgetting", "kept, fade = fade[:, :, -1]", "kept, fade = 0 * fade[:, :, -1]"),
    ("forgetting's scale", "softmax --weight forgetting --scale entropy --base 20",
     "masked_softmax(s + fade, sees)", "masked_softmax(self.scaled(fade, sees, self.config.scale) + s, sees)"),
    ("padding forgets", "softmax --weight forgetting", "t.mask(double(F.logsigmoid(g))).cumsum(2)",
     "double(F.logsigmoid(g)).cumsum(2)"),
    ("gau forgets nothing", "gau --norm forgetting", "self.scaled(s, sees, norm) + fade", "self.scaled(s, sees, norm)"),
    ("performer's features", "performer", "** -0.25", "** -0.5"),
    ("efficient's divisor", "efficient", "z_i = z + e.cumsum(2)", "z_i = z + e.sum(2, True) + 0 * e"),
    ("leaky's slope", "leaky", "0.01", "0.02"),
    ("negative denominators", "identity", "x.clamp(max=-1e-6)", "x.abs()"),
    ("retnet's decay", "retnet", " or 5) - h)", " or 5))"),
    ("retnet's scale", "retnet --out-norm none", "return math.sqrt(q.shape[-1])", "return 1.0"),
    ("a state that keeps", "decay", "S = now.exp().to(q) * S", "S = 1 * S"),
    ("a state that is read late", "decay", "o = A @ v + G.exp().to(q)", "o = A @ v + 1"),
    ("a key's decay", "decay", "k * (now - G).exp().to(q)", "k * (0 * G).exp().to(q)"),
    ("one side decays", "decay --task mlm", "(-(G - turn(G)).abs())", "(-(G - turn(G)).clamp(max=0))"),
    ("padding decays", "decay", "k, G = t.mask(k), double(t.mask(g))", "k, G = t.mask(k), double(g)"),
    ("padding decays on both sides", "decay --task mlm", "G = double(t.mask(g)).cumsum(2)[..., None]\n        return",
     "G = double(g).cumsum(2)[..., None]\n        return"),
    ("lightning's heads", "lightning", "x = 8 * (h + 1) / H", "x = 8 * h / H"),
    ("lightning's blocks", "lightning", "(1 - self.place / self.config.n_layer)", "1"),
    ("lightning's slopes", "lightning --slopes alibi", "2.0**-x if", "2.0**-x / 2 if"),
    ("lightning's silu", "lightning", "silu = True", "silu = False"),
    ("silu twice", "lightning --conv 3", "if self.mix.silu and not (self.config.conv and self.config.conv_silu)",
     "if self.mix.silu"),
    ("mamba2's steps", "mamba2 --conv 3", "v * step[..., None]", "v"),
    ("mamba2's rates", "mamba2 --conv 3", "-A.to(g).exp()[:, None] * step", "-step"),
    ("mamba2's skip", "mamba2 --conv 3", "else o + self.skip.weight[:, None, None] * v", "else o"),
    ("shared keys", "mamba2 --conv 3", "x[:, None].expand(-1, self.H, -1, -1)", "x[:, None].expand(-1, self.H, -1, -1).flip(-1) * x[:, None]"),
    ("gla's rate", "gla", "F.logsigmoid(ga) / 16", "F.logsigmoid(ga) / 15"),
    ("gla's scale", "gla --out-norm none", "t.mask(k) / math.sqrt(q.shape[-1])", "t.mask(k)"),
    ("gla's keys are transposed", "gla", "a[..., None] * S + outer(k, v)\n\n\nclass Deltanet",
     "a[..., None, :] * S + outer(k, v)\n\n\nclass Deltanet"),
    ("padding changes gla", "gla", '"k": t.mask(k) / math', '"k": k / math'),
    ("beta's range", "deltanet --negative --conv 3", "(2 if self.config.negative else 1)", "1"),
    ("nothing is taken out", "deltanet --conv 3", "beta * (v - read(Z, k))", "beta * v"),
    ("padding is put in", "deltanet --conv 0", "beta = t.mask((2 if", "beta = 1 * ((2 if"),
    ("reading before the decay", "gated-delta --conv 3", "beta * (v - read(Z, k))", "beta * (v - read(S, k))"),
    ("gated-delta's rate", "gated-delta --conv 3", "-A.to(g).exp()[:, None] * F.softplus(g)\n\n\nclass Kda",
     "-F.softplus(g)\n\n\nclass Kda"),
    ("kda's rate", "kda --conv 3", "-A.to(ga).exp()[:, None] * F.softplus(ga)", "-F.softplus(ga)"),
    ("rwkv7's decay", "rwkv7", "-math.exp(-0.5) * ga.sigmoid()", "-ga.sigmoid()"),
    ("rwkv7's sign", "rwkv7", "-b.sigmoid() * a", "b.sigmoid() * a"),
    ("rwkv7's length", "rwkv7", "a, w = unit(-a)", "a, w = -a"),
    ("rwkv7 reads what has faded", "rwkv7", "outer(b, read(S, a))", "outer(b, read(w[..., None] * S, a))"),
    ("padding is written back", "rwkv7", '"b": t.mask(-b.sigmoid() * a)', '"b": -b.sigmoid() * a'),
    ("a projection's offset", "decay --bias", " + self.b.weight\n", "\n"),
    ("a convolution the wrong way", "softmax --conv 3", "x[:, K - 1 - j : K - 1 - j + T]", "x[:, j : j + T]"),
    ("a convolution's last tokens", "softmax --conv 3", "t.real.sum(1)[:, None, None] + ", "0 * t.real.sum(1)[:, None, None] + "),
    ("a convolution of padding", "softmax --conv 3", "(~t.real).long()", "(0 * t.real).long()"),
    ("a convolution's middle", "softmax --conv 3 --task mlm", "(K - 1) // 2\n    before", "0\n    before"),
    ("conv's silu", "relu --conv 3", "return F.silu(x) if self.config.conv and", "return F.silu(x) if not"),
    ("fastformer adds q before its convolution", "fastformer --conv 3", "of.wo(join(o)) + rows[0]", "of.wo(join(o)) + q"),
    ("a unit's convolution", "gau --conv 3", 'F.silu(self.filtered(self.wz(h), "z", t, tails))', "F.silu(self.wz(h))"),
    ("a gain of q", "relu --qk-norm rms", "root_mean_square_norm(rows[0]) * self.q_norm.weight", "root_mean_square_norm(rows[0])"),
    ("keys are not normed", "relu --qk-norm l2", "unit(rows[0]), unit(rows[1])", "unit(rows[0]), rows[1]"),
    ("rfa's decay", "rfa --gated", "v, F.logsigmoid(g)\n\n\nclass Hedgehog", "v, F.logsigmoid(g) / 2\n\n\nclass Hedgehog"),
    ("rfa's rotation", "rfa --gated", "return self.of.rotated(q, t), self.of.rotated(k, t)", "return q, k"),
    ("synthesizer's relu", "synthesizer", "s = q.relu() @", "s = q @"),
    ("synthesizer's positions", "synthesizer --kind random", "r[:, t.pos[:, :, None], keys.pos[:, None, :]]",
     "r[:, keys.pos[:, None, :], t.pos[:, :, None]]"),
    ("a pool too far", "poolingformer --near 3 --far 9", "((i - first).abs() <= self.far)", "((i - first).abs() <= self.far + 1)"),
    ("a pool of the future", "poolingformer --near 3 --far 9", "(i >= last if self.causal else True)", "(i >= first if self.causal else True)"),
    ("padding in a pool", "poolingformer --near 3 --far 9 --task mlm", "has = keys.real[:, None, :] & (j", "has = (j == j) & (j"),
    ("pools' keys dropped", "poolingformer --near 3 --far 9", "max(self.near, self.far)", "min(self.near, self.far)"),
    ("reformer's rounds", "reformer --chunk 3", "N = sees.sum(-1) *", "N = sees.any(-1) *"),
    ("reformer sees itself", "reformer --chunk 3", "(self.sees(t, keys) & ~itself)", "self.sees(t, keys)"),
    ("reformer alone", "reformer --chunk 3", "torch.where(alone & itself & self.sees(t, keys), 1, N)", "N"),
    ("reformer's chunk before", "reformer --chunk 3 --task mlm", "(far == 0) | (far == 1)", "far == 0"),
    ("reformer's count", "reformer --chunk 3", "counts = count + t.mask(", "counts = 0 * count + t.mask("),
    ("reformer's buckets", "reformer --chunk 3", "torch.cat((y, -y), -1)", "torch.cat((y, y), -1)"),
    ("linformer's values", "linformer", "v = f[:, :, t.pos]", "v = e[:, :, t.pos]"),
    ("linformer's padding", "linformer", "@ t.mask(k)\n", "@ k\n"),
    ("nystromformer's steps", "nystromformer --landmarks 5", "for _ in range(6)", "for _ in range(5)"),
    ("nystromformer's segments", "nystromformer --landmarks 5", "r * n // m for r", "-(-r * n // m) for r"),
    ("a list's settings", "retnet,softmax:window=5", "config.of_block(place)",
     "config.of_block(0)"),
    ("a list shares with the first block", "fastformer:share=layers+qv,cosformer,fastformer:share=layers --n-layer 3",
     "first.get(i)", "first.get(0)"),
    ("fastformer's order", "fastformer --interaction add", "self.meet(h, v, concat_v), (of_q",
     "h * v, (of_q"),
    ("fastformer adds no q", "fastformer", "of.wo(join(o)) + rows[0]", "of.wo(join(o))"),
    ("fastformer's state", "fastformer", "fade[..., None] * y", "y"),
    ("gau's square", "gau", "s.relu().square() * sees,", "s.relu() * sees,"),
    ("gau without a gate", "gau", "F.silu(self.wu(h)) * join(o)", "self.wu(h) * join(o)"),
    ("flash's first chunk", "flash-gau --chunk 5", "(ql @ last) * (chunk > at)", "(ql @ last)"),
    ("flash's count", "flash-gau --chunk 5", "chunk.clamp(min=1))", "(chunk + 1))"),
    ("LayerNorm's mean", "elu --layer-norm layer", "x - x.mean(-1, keepdim=True)", "x"),
    ("the wrong gelu", "relu", 'approximate="tanh"', 'approximate="none"'),
    ("padding in both directions", "fastformer --task mlm", "s.masked_fill(~t.real[:, None], LOWEST)",
     "s"),
    ("chunks of padding", "flash-gau --chunk 5 --task mlm", "chunks = (t.real.sum(1)",
     "chunks = (t.real.shape[1] + 0 * t.real.sum(1)"),
]


def plant(folder, name, old, new):
    for source in SOURCES:
        with open(os.path.join(folder, source)) as f:
            text = f.read()
        if old in text:
            with open(os.path.join(folder, source), "w") as f:
                f.write(text.replace(old, new, 1))
            return
    raise ValueError(f"{name}: no source has {old}")


def check_bugs(which):
    missed = []
    for i, (name, words, old, new) in enumerate(BUGS):
        if which and not any(word in name or word in words for word in which):
            continue
        masked = words.split()[0] in MASKED  # alone
        words = f"--attn {words}" + (" --learning-rate 4e-3" if "gau" in words else "") + masked * " --task mlm"
        with tempfile.TemporaryDirectory() as folder:
            out, _ = export(folder, words)
            broken = os.path.join(folder, f"broken{i}")
            os.rename(out, broken)
            plant(broken, name, old, new)
            try:
                compare(broken, folder, words)
            except AssertionError as noticed:
                print(f"noticed: {name}: {str(noticed)[:60]}", flush=True)
                continue
        print(f"missed: {name}", flush=True)
        missed.append(name)
    assert not missed, missed


def mechanisms():
    """What the program has: the names under "--attn NAME" in ./train --help."""
    listed = run("train", "--help").decode().split("\n--attn NAME,...\n")[1].split("\n\n")[0]
    source = open(os.path.join(ROOT, "tools/export/mechanisms_attnc.py")).read()
    names = re.findall(r"^  (\S+)", listed, re.M)
    return [name for name in names if f'    "{name}": ' in source]  # ./export refuses others


def check_settings(name, configs):
    """Each setting in config.json has had more than one value."""
    around = {"attn", "vocab_size", "position", "ffn", "layer_norm", "task", "n_layer", "n_head",
              "n_kv_head", "n_embd", "block_size", "bias", "no_residual", "classes", "n_inner", "rope_base", "norm_eps",
              "model_type", "dtype", "torch_dtype",
              "architectures", "bos_token_id", "eos_token_id", "tie_word_embeddings", "auto_map"}
    only = {("efficient", "rope_at")}  # it has one value
    for key in {key for key in configs[0].keys() - around if (name, key) not in only}:
        assert len({config[key] for config in configs}) > 1, f"{name}: {key} was not tried"


def with_folder(check, *words):
    with tempfile.TemporaryDirectory() as folder:
        return check(folder, *words)


CAUSAL_ONLY = ("deltanet", "gated-delta", "kda", "rwkv7", "gla")


def check_mechanism(name):
    gated = name in ("gau", "flash-gau")  # no feed-forward layer; at high rates its squares die
    rate = " --learning-rate 4e-3" if gated else ""
    around = [words.replace("--ffn swiglu --n-inner 40 ", "") if gated else words for words in AROUND]
    of_causal, of_both = CAUSAL.get(name, []), OWN.get(name, [])
    causal = of_both + of_causal + around if name in OWN else []
    masked = MASKED[name] + around if name in MASKED else [] if name in CAUSAL_ONLY else of_both
    configs = [with_folder(check_own, f"--attn {name} {words}{rate}") for words in causal]
    configs += [with_folder(check_own, f"--attn {name} {words}{rate} --task mlm") for words in masked]
    check_settings(name, configs)


def check_lists():
    for words in LISTS:
        with_folder(check_own, words)
    for words in LISTS[:2]:
        with_folder(check_own, words + " --task mlm")


def check_texts():
    for words in ("cosformer", "gau", "fastformer", "retnet", "synthesizer"):
        with_folder(check_text, f"--attn {words}", 256)
    # Far beyond the context, with states of constant size, or all keys.
    for words in ("cosformer", "cosformer --position none --horizon 33", "relu",
                  "performer --position none", "retnet", "fastformer --position none", "exp",
                  "flash-gau --chunk 20", "gau --norm softmax", "softmax --window 9",
                  "softmax --weight forgetting --conv 3 --qk-norm rms", "longformer --reach 9 --global 2",
                  "bigbird --reach 3 --block 5 --random 2", "sparse --reach 6", "local --block 12",
                  "decay", "lightning", "mamba2", "deltanet", "gated-delta --negative", "kda", "rwkv7", "gla",
                  "rfa --gated", "poolingformer --near 5 --far 20 --position none",
                  "reformer --chunk 5 --buckets 4 --position none", "retnet,softmax:window=9"):
        with_folder(check_text, f"--attn {words}", 32)


def check_stocks():
    for words, class_name in STOCK.items():
        with_folder(check_stock, words, class_name)


def check_use():
    with_folder(check_library)
    with_folder(check_states)


def main():
    sys.path.pop(0)  # this folder
    try:
        import safetensors, tokenizers, torch, transformers  # noqa: E401, F401
    except ImportError as why:
        print(f"skipped: {why}")
        return
    torch.set_num_threads(1)
    if not all(os.path.exists(os.path.join(ROOT, name)) for name in ("train", "sample", "export")):
        print("skipped: make ./train, ./sample and ./export first")
        return
    assert set(mechanisms()) == {*OWN, *MASKED}, set(mechanisms()) ^ {*OWN, *MASKED}
    parts = {"stock": check_stocks, "lists": check_lists, "texts": check_texts, "library": check_use}
    if sys.argv[1:2] == ["--bugs"]:
        check_bugs(sys.argv[2:])
        return
    for name in sys.argv[1:] or ["stock", *OWN, *MASKED, "lists", "texts", "library"]:
        parts[name]() if name in parts else check_mechanism(name)
    print("all passed")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as modules:
        os.environ["HF_MODULES_CACHE"] = modules  # where transformers puts the classes of a folder
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        sys.exit(main())
