#!/usr/bin/env python3
"""./attend and the reference functions of flash-linear-attention: the same outputs and gradients, to
1e-6. Needs ./attend, and the packages fla-core, torch, einops and safetensors; without them it says so
and ends well. Of fla-core it reads the files fla/ops/*/naive.py alone, which need no GPU.

    tests/fla.py               everything
    tests/fla.py delta gla     these mechanisms only
"""
import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
B, T, H, D, E = 2, 150, 3, 8, 6
TOLERANCE = 1e-6  # of the largest number


sys.path.pop(0)  # this folder, in which this file is called fla, too


def naive(folder, function):
    """A function of fla/ops/FOLDER/naive.py, without the rest of the package."""
    package = importlib.util.find_spec("fla").submodule_search_locations[0]
    path = os.path.join(package, "ops", folder, "naive.py")
    spec = importlib.util.spec_from_file_location("fla_" + folder, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


@contextlib.contextmanager
def in_double():
    """The functions ask for float; this way they get double."""
    import torch

    was = torch.float, torch.float32, torch.Tensor.float
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = was


def heads_first(x):
    return x.transpose(1, 2)


def based(q, k, v):
    """The quotient of two sums, without the 1e-6 that the function adds to the divisor."""
    import torch

    parallel = naive("based", "naive_parallel_based")
    q, k, v = map(heads_first, (q, k, v))
    above, below = (parallel(q, k, x, use_norm=False) for x in (v, torch.ones_like(v)))
    return heads_first(above / below)


# The mechanism, options of ./attend, operands beside q, k and v, and the function. Where q is not
# divided by sqrt(D) in ./attend, as that is the layer's work, it is done here.
CASES = {
    "decay": ("decay", "", "g", True, lambda q, k, v, g: naive(
        "simple_gla", "naive_parallel_simple_gla")(q, k, v, g)[0]),
    "gla": ("decay", "", "ga", True, lambda q, k, v, ga: naive(
        "gla", "naive_recurrent_gla")(q, k, v, ga)[0]),
    "delta": ("delta", "", "beta", True, lambda q, k, v, beta: heads_first(naive(
        "delta_rule", "delta_rule_recurrence")(*map(heads_first, (q, k, v, beta)))[0])),
    "gated-delta": ("delta", "", "beta g", True, lambda q, k, v, beta, g: naive(
        "gated_delta_rule", "naive_recurrent_gated_delta_rule")(q, k, v, beta, g)[0]),
    "kda": ("delta", "", "beta ga", True, lambda q, k, v, beta, ga: naive(
        "kda", "naive_recurrent_kda")(q, k, v, ga, beta)[0]),
    "retention": ("retnet", "", "", True, lambda q, k, v: heads_first(naive(
        "retention", "naive_retention")(*map(heads_first, (q, k, v))))),
    "forgetting": ("softmax", "--weight forgetting", "g", False, lambda q, k, v, g: naive(
        "forgetting_attn", "naive_forgetting_attn")(q, k, v, g)),
    "forgetting, window": ("softmax", "--weight forgetting --window 20", "g", False,
                           lambda q, k, v, g: naive("forgetting_attn", "naive_forgetting_attn")(
                               q, k, v, g, window_size=21)),
    "based": ("based", "", "", False, based),
}


def drawn(name):
    import torch
    from torch.nn.functional import logsigmoid, normalize

    shape = {"v": (B, T, H, E), "g": (B, T, H), "beta": (B, T, H)}.get(name, (B, T, H, D))
    x = torch.randn(shape)
    if name in ("g", "ga"):
        return logsigmoid(x + 2)
    if name == "beta":
        return x.sigmoid()
    return normalize(x, dim=-1) if name == "k" else x


def attend(attn, words, tensors, folder):
    from safetensors.torch import load_file, save_file

    file_in, file_out = os.path.join(folder, "in"), os.path.join(folder, "out")
    save_file({name: x.detach().contiguous() for name, x in tensors.items()}, file_in)
    command = [os.path.join(ROOT, "attend"), "--attn", attn, "--causal", *words, file_in, file_out]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return load_file(file_out)


def check_case(name, attn, words, operands, divided, function):
    import torch

    torch.manual_seed(1)
    own = ["q", "k", "v", *operands.split()]
    x = {of: drawn(of).requires_grad_() for of in own}
    with in_double():
        o = function(*(y.double() for y in x.values()))
    assert o.dtype == torch.float64
    dout = torch.randn_like(o).float()
    gradients = torch.autograd.grad(o, x.values(), dout.double())
    want = {"out": o, **{"d" + of: dx for of, dx in zip(own, gradients)}}
    given = {**x, "dout": dout}
    if divided:
        given["q"] = x["q"] / D**0.5
    with tempfile.TemporaryDirectory() as folder:
        got = attend(attn, words.split(), given, folder)
    if divided:
        got["dq"] = got["dq"] / D**0.5
    off = {of: ((got[of] - y).abs().max() / y.abs().max()).item() for of, y in want.items()}
    print(f"{name:20} at most {max(off.values()):.1e} off ({max(off, key=off.get)})")
    for of, far in off.items():
        assert far <= TOLERANCE, (name, of, far)


def main():
    if missing := [name for name in ("fla", "torch", "einops", "safetensors")
                   if importlib.util.find_spec(name) is None]:
        print(f"skipped: the packages {', '.join(missing)} are missing")
        return
    if not os.path.exists(os.path.join(ROOT, "attend")):
        print("skipped: make ./attend first")
        return
    for name, case in CASES.items():
        if len(sys.argv) < 2 or name.split(",")[0] in sys.argv[1:]:
            check_case(name, *case)
    print("all passed")


if __name__ == "__main__":
    sys.exit(main())
