#!/usr/bin/env python3
"""Training steps in PyTorch of the model that ./bench --only step trains: the peer of our own.

    torch_step.py --attn relu --length 512 --batch-size 8     one line of JSON: the best step
    torch_step.py --check                                     every attention against ./attend

It is the same model but for two things that PyTorch is slower at, and which are taken in the form
it is fastest at: LayerNorm for RMSNorm, and the GELU of erf for that of tanh.

Where the processor is not Intel's, the library that PyTorch multiplies matrices with (MKL) may leave
its widest vectors unused, while the one that it convolves with (oneDNN) does not. A product with a
weight is a convolution whose window is one pixel, so --products auto takes what is faster here.

glibc gives large tensors back to the system as soon as they are freed, and to get them anew, page by
page, takes a fifth of a step or more: this starts itself again with TUNABLES that keep them, in huge
pages. --no-tunables leaves it at what PyTorch does by itself.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

TUNABLES = ("glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.top_pad=67108864:"
            "glibc.malloc.trim_threshold=1000000000000")
if (__name__ == "__main__" and "--no-tunables" not in sys.argv
        and os.environ.get("GLIBC_TUNABLES") != TUNABLES):  # read as a process starts
    os.execve(sys.executable, [sys.executable, *sys.argv],
              {**os.environ, "GLIBC_TUNABLES": TUNABLES})

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from torch_chunked import decayed, delta  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LINEAR = ("relu", "elu", "exp", "cosformer", "performer")
DECAYED = ("retnet", "lightning", "gla")
DELTA = ("deltanet", "gated-delta", "kda")
RECURRENT = DECAYED + DELTA
NO_ROPE = ("fastformer", "gla", *DELTA)
NAMES = ("softmax", *LINEAR, "fastformer", "gau", *RECURRENT)
TOLERANCE = 1e-4
TINY = 1e-6  # the least denominator, as in ops/attention/engine/head.h
options = argparse.Namespace(chunk=128, rows=512, products="blas")


# --- products ------------------------------------------------------------------------------------

def image(x):
    """The rows of a matrix as pixels, its columns as their channels, where they lie."""
    rows = math.gcd(x.shape[0], 64)
    return x.view(1, rows, -1, x.shape[1]).permute(0, 3, 1, 2)


def times(x, w):
    """x w^T, for any number of dimensions of x and a matrix w."""
    if options.products == "blas":
        return F.linear(x, w)
    y = F.conv2d(image(x.reshape(-1, x.shape[-1])), w[:, :, None, None])
    return y.permute(0, 2, 3, 1).reshape(*x.shape[:-1], -1)


def choose_products():
    """What is faster for one product of the model, forward and backward."""
    x, w = torch.randn(4096, 256), torch.randn(1024, 256, requires_grad=True)
    best = {}
    for options.products in ("blas", "onednn"):
        runs = []
        for _ in range(5):
            start = time.perf_counter()
            times(x, w).backward(torch.ones(4096, 1024))
            runs.append(time.perf_counter() - start)
        best[options.products] = min(runs)
    return min(best, key=best.get)


# --- attentions: of q, k, v (B, T, H, D), as ./attend takes them -----------------------------------

def turns(T, D):
    """RoPE: by how much each pair of numbers is turned, as complex numbers."""
    angle = torch.arange(T, dtype=torch.float64)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)


def turn(x, by):
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * by).flatten(-2)


def features(name, x, omega):
    """phi, or psi, of (B, H, T, D)."""
    if name == "relu":
        return F.relu(x)
    if name == "elu":
        return F.elu(x).add_(1)
    if name == "exp":
        return torch.exp(x)
    if name == "cosformer":
        angle = torch.arange(1, x.shape[2] + 1) * (math.pi / 2 / x.shape[2])
        x = F.relu(x)
        return torch.cat((x * angle.cos()[:, None], x * angle.sin()[:, None]), -1)
    half = (x * x).sum(-1, keepdim=True) * (0.5 / math.sqrt(x.shape[-1]))
    y = x @ (omega * x.shape[-1] ** -0.25).transpose(1, 2)
    return y.sub_(half + math.log(omega.shape[1]) / 2).exp_()


def linear_rows(phi, psi, v):
    """Row i: the sum over j <= i of (phi_i . psi_j) v_j, in chunks."""
    B, H, T, E = v.shape
    c = math.gcd(options.chunk, T)
    phi, psi, v = (x.reshape(B * H, T // c, c, -1) for x in (phi, psi, v))
    o = (phi @ psi.transpose(-1, -2)).tril_() @ v
    if T > c:
        before = (psi[:, :-1].transpose(-1, -2) @ v[:, :-1]).cumsum(1)
        o = torch.cat((o[:, :1], o[:, 1:] + phi[:, 1:] @ before), 1)
    return o.view(B, H, T, E)


def linear(name, q, k, v, causal, by, omega=None):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    phi, psi = features(name, q, omega), features(name, k, omega)
    z = psi.cumsum(2) if causal else psi.sum(2, keepdim=True)
    c = torch.linalg.vecdot(phi, z)[..., None] if causal else phi @ z.transpose(-1, -2)
    if by is not None:  # the denominator is not turned
        phi, psi = turn(phi, by), turn(psi, by)
    o = linear_rows(phi, psi, v) if causal else phi @ (psi.transpose(-1, -2) @ v)
    return (o / c.clamp_min(TINY)).transpose(1, 2)


def softmax(q, k, v, causal):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)


def pool(x, w, causal):
    a = (x * w).sum(-1, keepdim=True) / math.sqrt(x.shape[-1])
    if not causal:
        return (a.softmax(1) * x).sum(1, keepdim=True)
    e = torch.exp(a - a.detach().amax(1, keepdim=True))
    return (e * x).cumsum(1) / e.cumsum(1)


def fastformer(q, k, v, causal, pool_q, pool_k):
    return pool(pool(q, pool_q, causal) * k, pool_k, causal) * v


class Square(torch.autograd.Function):
    """max(q k^T, 0)^2 v, for (B, T, D): some rows at a time, and again on the way back, so that no
    matrix of T x T is ever kept; causal, the keys that no row sees are left out."""

    @staticmethod
    def blocks(x, causal):
        T = x.shape[1]
        for b in range(x.shape[0]):
            for i in range(0, T, options.rows):
                j = min(i + options.rows, T)
                yield b, slice(i, j), slice(0, j if causal else T)

    @staticmethod
    def weights(q, k, causal):
        s = times(q, k).relu_()
        if causal:
            s[:, -q.shape[0]:].tril_()
        return s

    @staticmethod
    def forward(ctx, q, k, v, causal):
        ctx.save_for_backward(q, k, v)
        ctx.causal = causal
        o = torch.empty_like(v, memory_format=torch.contiguous_format)
        for b, i, j in Square.blocks(q, causal):
            o[b, i] = times(Square.weights(q[b, i], k[b, j], causal).square_(), v[b, j].t())
        return o

    @staticmethod
    def backward(ctx, g):
        q, k, v = ctx.saved_tensors
        dq, dk, dv = (torch.zeros_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
        for b, i, j in Square.blocks(q, ctx.causal):
            s = Square.weights(q[b, i], k[b, j], ctx.causal)
            ds = times(g[b, i], v[b, j]).mul_(s).mul_(2)
            dq[b, i] = times(ds, k[b, j].t())
            dk[b, j] += times(ds.t(), q[b, i].t())
            dv[b, j] += times(s.square_().t(), g[b, i].t())
        return dq, dk, dv, None


def gau(q, k, v, causal):
    T = q.shape[1]
    seen = torch.arange(1, T + 1)[:, None] if causal else T
    return Square.apply(q / math.sqrt(q.shape[-1]), k, v, causal) / seen


def fixed_rates(name, H):
    """g of each head; lightning's are those of its first layer."""
    h = torch.arange(H)
    return torch.log1p(-2.0 ** (-5 - h)) if name == "retnet" else -8.0 * (h + 1) / H


def recurrent(name, q, k, v, g=None, ga=None, beta=None):
    if name == "retnet":
        q = q / math.sqrt(q.shape[-1])
    if name in DELTA:
        return delta(q, k, v, beta, g if ga is None else ga, options.chunk)
    g = fixed_rates(name, q.shape[2]) if name != "gla" else ga
    return decayed(q, k, v, g, options.chunk)


# --- the model -----------------------------------------------------------------------------------

class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.w = nn.Parameter(torch.randn(outputs, inputs) / math.sqrt(3 * inputs))

    def forward(self, x):
        return times(x, self.w)


class Heads(nn.Module):
    def __init__(self, o, by):
        super().__init__()
        D = o.n_embd // o.n_head
        self.name, self.H, self.causal, self.by = o.attn, o.n_head, not o.bidirectional, by
        self.norm, self.qkv, self.o = (nn.LayerNorm(o.n_embd), Dense(o.n_embd, 3 * o.n_embd),
                                       Dense(o.n_embd, o.n_embd))
        if o.attn == "performer":
            self.register_buffer("omega", torch.randn(o.n_head, 4 * D, D))
        if o.attn == "fastformer":
            self.pool_q, self.pool_k = (nn.Parameter(torch.randn(o.n_head, D) / math.sqrt(D))
                                        for _ in range(2))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.H, -1)).unbind(2)
        if self.name == "fastformer":
            y = fastformer(q, k, v, self.causal, self.pool_q, self.pool_k)
            return x + self.o(y.flatten(2)) + q.flatten(2)
        if self.name == "softmax":
            y = softmax(turn(q, self.by[:, None]), turn(k, self.by[:, None]), v, self.causal)
        else:
            y = linear(self.name, q, k, v, self.causal, self.by, getattr(self, "omega", None))
        return x + self.o(y.flatten(2))


class Rate(nn.Module):
    """Logarithms of decays: gla's of each feature, or Mamba's -e^A softplus(w.x + b)."""

    def __init__(self, name, C, H):
        super().__init__()
        self.by_head, self.sigmoid = name == "gated-delta", name == "gla"
        self.H, n = H, H if self.by_head else C
        self.w = nn.Sequential(*([Dense(C, H)] if self.by_head else [Dense(C, 16), Dense(16, C)]))
        self.b = nn.Parameter(torch.full((n,), 0.0 if self.sigmoid else -4.6))
        self.a = None if self.sigmoid else nn.Parameter(torch.linspace(1, 16, n).log())

    def forward(self, x):
        s = self.w(x) + self.b
        s = F.logsigmoid(s) / 16 if self.sigmoid else -self.a.exp() * F.softplus(s)
        return s if self.by_head else s.unflatten(-1, (self.H, -1))


class Recurrent(nn.Module):
    CONV = 4

    def __init__(self, o, by):
        super().__init__()
        C, self.name, self.H = o.n_embd, o.attn, o.n_head
        self.by = by if o.attn in ("retnet", "lightning") else None
        self.norm, self.qkv, self.o = nn.LayerNorm(C), Dense(C, 3 * C), Dense(C, C)
        self.gate = None if o.attn == "deltanet" else Dense(C, C)
        self.beta = Dense(C, o.n_head) if o.attn in DELTA else None
        self.conv = (nn.Parameter(torch.randn(3 * C, 1, self.CONV) / 2) if o.attn in DELTA
                     else None)
        self.rate = Rate(o.attn, C, o.n_head) if o.attn in ("gla", "gated-delta", "kda") else None

    def convolved(self, x):
        x = F.pad(x.transpose(1, 2), (self.CONV - 1, 0))
        return F.silu(F.conv1d(x, self.conv, groups=x.shape[1])).transpose(1, 2)

    def operands(self, h):
        x = self.qkv(h)
        if self.conv is not None:
            x = self.convolved(x)
        q, k, v = x.unflatten(-1, (3, self.H, -1)).unbind(2)
        if self.name == "lightning":
            q, k = F.silu(q), F.silu(k)
        if self.by is not None:
            q, k = turn(q, self.by[:, None]), turn(k, self.by[:, None])
        if self.name == "gla":
            q = q / math.sqrt(q.shape[-1])
        more = {}
        if self.beta is not None:
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
            more["beta"] = torch.sigmoid(self.beta(h))
        if self.rate is not None:
            more["g" if self.rate.by_head else "ga"] = self.rate(h)
        return q, k, v, more

    def forward(self, x):
        h = self.norm(x)
        q, k, v, more = self.operands(h)
        y = recurrent(self.name, q, k, v, **more)
        y = F.rms_norm(y, y.shape[-1:]).flatten(2)
        return x + self.o(y if self.gate is None else y * F.silu(self.gate(h)))


class Feed(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(C), Dense(C, 4 * C), Dense(4 * C, C)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Unit(nn.Module):
    KEY = 128

    def __init__(self, o, by):
        super().__init__()
        self.C, self.causal, self.by = o.n_embd, not o.bidirectional, by
        self.norm = nn.LayerNorm(self.C)
        self.uvz, self.o = Dense(self.C, 4 * self.C + self.KEY), Dense(2 * self.C, self.C)
        self.gamma = nn.Parameter(3 * torch.randn(2, self.KEY))
        self.beta = nn.Parameter(torch.zeros(2, self.KEY))

    def forward(self, x):
        parts = (2 * self.C, 2 * self.C, self.KEY)
        u, v, z = F.silu(self.uvz(self.norm(x))).split(parts, -1)
        q, k = (turn(torch.addcmul(b, z, g), self.by) for g, b in zip(self.gamma, self.beta))
        return x + self.o(u * gau(q, k, v, self.causal))


class Model(nn.Module):
    def __init__(self, o):
        super().__init__()
        C, D = o.n_embd, o.n_embd // o.n_head
        width = {"gau": Unit.KEY, "cosformer": 2 * D, "performer": 4 * D}.get(o.attn, D)
        by = turns(o.length, width)
        self.embed = nn.Embedding(o.vocab, C)
        self.position = nn.Embedding(o.length, C) if o.attn == "fastformer" else None
        self.layers = nn.Sequential()
        for _ in range(o.n_layer):
            kind = Recurrent if o.attn in RECURRENT else Heads
            pair = (Unit(o, by), Unit(o, by)) if o.attn == "gau" else (kind(o, by), Feed(C))
            self.layers.extend(pair)
        self.norm, self.head = nn.LayerNorm(C), Dense(C, o.vocab)

    def forward(self, x, y):
        x = self.embed(x)
        if self.position:
            x = x + self.position.weight
        return F.cross_entropy(self.head(self.norm(self.layers(x))).flatten(0, 1), y.flatten())


def optimiser(model):
    """Gains and biases do not decay. The fused step is one pass over memory."""
    groups = [{"params": [p for p in model.parameters() if (p.dim() > 1) == matrix],
               "weight_decay": 0.1 if matrix else 0.0} for matrix in (True, False)]
    how = dict(lr=1e-4, betas=(0.9, 0.99), eps=1e-8)
    try:
        return torch.optim.AdamW(groups, fused=True, **how)
    except (RuntimeError, TypeError):  # before PyTorch 2.4
        return torch.optim.AdamW(groups, **how)


def autocast(o):
    return torch.autocast("cpu", torch.bfloat16, enabled=o.bf16)


def step_times(o):
    torch.manual_seed(0)
    model = Model(o)
    parameters = sum(p.numel() for p in model.parameters())
    adamw = optimiser(model)
    x, y = (torch.randint(0, o.vocab, (o.batch_size, o.length)) for _ in range(2))
    run = torch.compile(model) if o.compile else model
    seconds = []
    while len(seconds) < o.steps and sum(seconds) < o.most_seconds:
        start = time.perf_counter()
        adamw.zero_grad(set_to_none=True)
        with autocast(o):
            loss = run(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        seconds.append(time.perf_counter() - start)
    return seconds, parameters


# --- the same as ./attend ------------------------------------------------------------------------

def attended(name, causal, rope, tensors, folder):
    from safetensors.torch import load_file, save_file

    save_file(tensors, folder + "/in")
    words = ["./attend", "--attn", name, *(["--causal"] if causal else []),
             *(["--rope"] if rope else []), folder + "/in", folder + "/out"]
    subprocess.run(words, check=True, cwd=ROOT)
    return load_file(folder + "/out")


def operands(name):
    """96 positions are no multiple of a chunk of 64, nor of 40 rows of gau."""
    gated = name == "gau"
    shape = (2, 96, 1 if gated else 3, 16)
    x = {n: torch.randn(shape) for n in ("q", "k", "v", "dout")}
    if name == "performer":
        x["omega"] = torch.randn(shape[2], 32, 16)
    if name == "fastformer":
        x["pool_q"], x["pool_k"] = torch.randn(2, shape[2], 16).unbind(0)
    if name in DELTA:
        x["k"], x["beta"] = F.normalize(x["k"], dim=-1), torch.rand(shape[:3])
    if name in ("gla", "kda"):
        x["ga"] = -torch.rand(shape)
    if name == "gated-delta":
        x["g"] = -torch.rand(shape[:3])
    return {n: t.contiguous() for n, t in x.items()}


def mix(name, x, causal, rope):
    T, D = x["q"].shape[1], x["q"].shape[3]
    width = {"cosformer": 2 * D, "performer": 2 * D}.get(name, D)
    by = turns(T, width) if rope else None
    q, k, v = x["q"], x["k"], x["v"]
    if name in LINEAR:
        return linear(name, q, k, v, causal, by, x.get("omega"))
    if name == "fastformer":
        return fastformer(q, k, v, causal, x["pool_q"], x["pool_k"])
    if rope:
        q, k = turn(q, by[:, None]), turn(k, by[:, None])
    if name == "softmax":
        return softmax(q, k, v, causal)
    if name in RECURRENT:
        return recurrent(name, q, k, v, **{n: x[n] for n in ("g", "ga", "beta") if n in x})
    return gau(q[:, :, 0], k[:, :, 0], v[:, :, 0], causal)[:, :, None]


def furthest(name, causal, rope):
    """Of out and all gradients: the largest difference, over the largest number."""
    x = operands(name)
    with tempfile.TemporaryDirectory() as folder:
        ours = attended(name, causal, rope, x, folder)
    inputs = {n: t.requires_grad_() for n, t in x.items() if n not in ("dout", "omega")}
    out = mix(name, x, causal, rope)
    found = dict(zip(inputs, torch.autograd.grad(out, list(inputs.values()), x["dout"])))
    found = {"out": out.detach(), **{"d" + n: t for n, t in found.items()}}
    assert found.keys() == ours.keys(), (found.keys(), ours.keys())
    return max(((found[n] - t).abs().max() / t.abs().max()).item() for n, t in ours.items())


def check(names):
    """Whether everything is within TOLERANCE, with products of both kinds where it has any."""
    options.chunk, options.rows = 32, 40
    right = True
    for name in names:
        for causal in (True, False)[:1 if name in RECURRENT else 2]:
            for rope in (False, True)[:1 if name in NO_ROPE else 2]:
                for options.products in ("blas", "onednn")[:2 if name == "gau" else 1]:
                    torch.manual_seed(1)
                    off = furthest(name, causal, rope)
                    right &= off < TOLERANCE  # and not NaN
                    print(f"{name:11} {'causal' if causal else '':6} {'rope' if rope else '':4} "
                          f"{options.products:6} {off:.1e}{'' if off < TOLERANCE else '  WRONG'}")
    return right


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--attn", choices=NAMES)
    p.add_argument("--bidirectional", action="store_true", help="not causal")
    for name, value in (("length", 512), ("batch-size", 8), ("n-layer", 6), ("n-head", 4),
                        ("n-embd", 256), ("vocab", 256), ("steps", 5), ("chunk", 0), ("rows", 0)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--most-seconds", type=float, default=60, help="no step begins after these")
    p.add_argument("--products", choices=("auto", "blas", "onednn"), default="auto")
    p.add_argument("--bf16", action="store_true", help="products and attention in bf16, by autocast")
    p.add_argument("--compile", action="store_true", help="torch.compile, which needs a C++ compiler")
    p.add_argument("--no-tunables", action="store_true", help="of glibc's memory")
    p.add_argument("--check", action="store_true", help="against ./attend, to %g" % TOLERANCE)
    return p.parse_args()


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    o = arguments()
    torch.set_num_threads(o.threads)
    torch.set_flush_denormal(True)  # what has decayed to almost nothing is slow to multiply
    if o.check:
        return 0 if check([o.attn] if o.attn else NAMES) else 1
    o.attn = o.attn or "softmax"
    options.chunk = o.chunk or (64 if o.length <= 1024 else 128)  # as measured
    options.rows = o.rows or options.rows
    empty = peak_mib()
    with autocast(o):
        options.products = choose_products() if o.products == "auto" else o.products
    here = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (here, here))  # what does not fit ends by itself
    seconds, parameters = step_times(o)
    print(json.dumps({
        "torch": torch.__version__, "attn": o.attn, "causal": not o.bidirectional,
        "length": o.length, "batch": o.batch_size, "threads": o.threads,
        "products": options.products, "compiled": o.compile, "bf16": o.bf16, "parameters": parameters,
        "steps": len(seconds), "seconds": round(min(seconds), 6),
        "tokens_per_s": round(o.batch_size * o.length / min(seconds), 1),
        "peak_mib": round(peak_mib(), 1), "peak_mib_before": round(empty, 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
