"""The mechanisms of attn.c, in plain torch: a class each, with its formula. MIXES lists them.

Letters: B sequences of T tokens; H heads; q and k have D numbers per head, v has E; F features.
V(i) is the set of keys that row i sees: all of its sequence or, in a causal model, those up to i;
never padding; with a window w, none further away than w. A row that sees no key outputs zeros.

A causal mechanism reads a sequence in pieces: piece() takes some tokens and the state that earlier
ones left, and returns their outputs and the new state. Training runs it over long pieces, decoding
over pieces of one token; the two compute the same. A state is a tuple of tensors (B, ...).
"""

import math
from functools import lru_cache
from typing import Callable, NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn import functional as F

from .configuration_attnc import AttncConfig

PIECE = 64  # tokens that a causal mechanism reads at once
LOWEST = -1e30  # a score below all others


# ---------------------------------------------------------------------------------- positions


class Tokens(NamedTuple):
    """Positions (B, T), which count real tokens alone, and which tokens are real, not padding.

    So padding may be anywhere: on the left, as generate() wants it, or on the right.
    """

    pos: Tensor
    real: Tensor

    def part(self, begin: int, end: int) -> "Tokens":
        return Tokens(self.pos[:, begin:end], self.real[:, begin:end])

    def mask(self, x: Tensor) -> Tensor:
        """x (B, H, T, ...) with zeros for padding."""
        return x * self.real.view(self.real.shape[0], 1, -1, *[1] * (x.dim() - 3))


def double(x: Tensor) -> Tensor:
    """Angles of late positions need it, and long sums, where the device can."""
    return x.float() if x.device.type == "mps" else x.double()


def angles(pos: Tensor, width: int, base: float = 10000.0) -> Tensor:
    """t base^(-2m / width) for each position t and pair m: (B, T, width / 2), in double."""
    pair = double(torch.arange(0, width, 2, device=pos.device))
    return double(pos)[..., None] * base ** (-pair / width)


def rotate(x: Tensor, pos: Tensor, base: float) -> Tensor:
    """RoPE: the pair (x_2m, x_2m+1) rotated by t base^(-2m / width), for x (B, H, T, width)."""
    w = angles(pos, x.shape[-1], base)[:, None]
    c, s = w.cos().to(x.dtype), w.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def sinusoids(pos: Tensor, width: int) -> Tensor:
    """sin and cos of the angles in turn, at the scale of the embedding: (B, T, width)."""
    w = angles(pos, width)
    return 0.02 * torch.stack((w.sin(), w.cos()), -1).flatten(-2)[..., :width]


# --------------------------------------------------------------------------------- mechanisms


def guard(x: Tensor) -> Tensor:
    """A denominator that is not 0: max(x, 1e-6), or min(x, -1e-6) where x is negative."""
    return torch.where(x < 0, x.clamp(max=-1e-6), x.clamp(min=1e-6))


def turn(x: Tensor) -> Tensor:
    """The transpose of the last two dimensions."""
    return x.transpose(-1, -2)


def zeros(x: Tensor, *shape: int) -> Tensor:
    """(B, H, *shape) for x (B, H, ...)"""
    return x.new_zeros(*x.shape[:2], *shape)


def precise(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()


def unit(x: Tensor) -> Tensor:
    """Rows of length 1, nearly: x / sqrt(|x|^2 + 1e-6)."""
    y = precise(x)
    return (y * (y.square().sum(-1, keepdim=True) + 1e-6).rsqrt()).to(x.dtype)


def masked_softmax(s: Tensor, sees: Tensor) -> Tensor:
    """Of s_ij over the j that row i sees, or zeros if there are none."""
    return s.masked_fill(~sees, LOWEST).softmax(-1) * sees


class Projection(NamedTuple):
    """x = W h + b, which the layer computes for each head from its normed input h:

    a number, or D of them (each); with W = W2 W1, of that rank. A mechanism with a rate has another
    parameter like b, called A. The functions draw what b and A are in a new model.
    """

    each: bool = False
    rank: int = 0
    rate: bool = False
    draw: Optional[Callable[[Tensor], Tensor]] = None
    draw_rate: Optional[Callable[[Tensor], Tensor]] = None


class Mix:
    """o (B, H, T, E) from the rows q, k (B, H, T, D) and v (B, H, T, E), and projections of h."""

    layer = "heads"  # the layer around it
    of_z = ("q", "k")  # what a gated unit computes from z
    silu = False  # of q and k, unless a convolution has done it
    placed = False  # it has parameters for each position, so the context is its end

    def __init__(self, config: AttncConfig, place: int = 0):
        self.config, self.causal, self.step = config, config.task == "causal", PIECE
        self.rope, self.forgets = config.position == "rope", bool(config.window)
        self.rope_base = float(config.rope_base or 10000)
        self.place = place  # the number of the block

    def inputs(self) -> str:
        """Which of q, k and v have a matrix; q or v is in place of the others."""
        return "qkv"

    def own(self, H: int, D: int) -> dict:
        """The names and shapes of parameters of its own, which piece() and whole() get."""
        return {}

    def projections(self) -> dict:
        """The names of projections of h, (B, H, T) or (B, H, T, D), which they get, too."""
        return {}

    def __call__(self, rows: list, t: Tokens, state: Optional[tuple], of_h: dict, own: dict):
        dtype, T = rows[0].dtype, t.pos.shape[1]
        rows, of_h = [precise(x) for x in rows], {name: precise(x) for name, x in of_h.items()}
        if not self.causal:
            return self.whole(*rows, t, **of_h, **own).to(dtype), None
        o = []
        for i in range(0, T, self.step):
            part = [x[:, :, i : i + self.step] for x in rows]
            of_part = {name: x[:, :, i : i + self.step] for name, x in of_h.items()}
            y, state = self.piece(*part, t.part(i, i + self.step), state, **of_part, **own)
            o.append(y)
        return torch.cat(o, 2).to(dtype), state

    def rotated(self, x: Tensor, t: Tokens) -> Tensor:
        return rotate(x, t.pos, self.rope_base) if self.rope else x

    def sees(self, t: Tokens, keys: Tokens) -> Tensor:
        """Whether key j is in V(i): (B, 1, T, keys)."""
        far = t.pos[:, :, None] - keys.pos[:, None, :]
        sees = keys.real[:, None, :] & (far >= 0 if self.causal else True)
        if self.config.window:
            sees = sees & (far.abs() <= self.config.window)
        return sees[:, None]

    def keep(self, t: Tokens, keys: Tokens, *of: Tensor) -> tuple:
        """Keys and what belongs to them, as a state, without those that no later row can see."""
        if not self.forgets:
            return (keys, *of)
        after = t.pos[:, -1:] + 1
        seen = self.sees(Tokens(after, after >= 0), keys)[:, 0, 0].any(0)
        return only(seen, keys, *of)


def only(seen: Tensor, keys: Tokens, *of: Tensor) -> tuple:
    """These keys (keys), and what belongs to them."""
    return (Tokens(keys.pos[:, seen], keys.real[:, seen]), *(x[:, :, seen] for x in of))


def append(state: Optional[tuple], t: Tokens, *of: Tensor) -> list:
    """The keys of a state and the new ones."""
    if state is None:
        return [t, *of]
    keys = Tokens(torch.cat((state[0].pos, t.pos), 1), torch.cat((state[0].real, t.real), 1))
    return [keys, *(torch.cat(x, 2) for x in zip(state[1:], of))]


def rel_bias_of(config: AttncConfig, H: int, D: int) -> dict:
    return {"rel_a": (H, D), "rel_b": (H, D)} if config.rel_bias == "rope" else {}


def rel_bias(t: Tokens, keys: Tokens, base: float, rel_a=None, rel_b=None):
    """(R_i a).(R_j b), for RoPE's rotations R: a bias of s_ij by distance. (B, H, T, keys), or 0"""
    if rel_a is None:
        return 0
    even = rel_a.shape[-1] // 2 * 2  # an odd number at the end is not rotated

    def rotated(x: Tensor, pos: Tensor) -> Tensor:
        x = x[None, :, None].expand(pos.shape[0], -1, pos.shape[1], -1)
        return torch.cat((rotate(x[..., :even], pos, base), x[..., even:]), -1)

    return rotated(rel_a, t.pos) @ turn(rotated(rel_b, keys.pos))


class Pairs(Mix):
    """o_i = sum over j in V(i) of A_ij v_j, where A_i is a function of s_ij = q_i.k_j / sqrt(D).

    The state is all keys and values that a later row can see. If scores fade, by ln f_t =
    logsigmoid(g_t) for each position t between j and i, it also has the sum of these up to now.
    """

    fading = False

    def own(self, H: int, D: int) -> dict:
        return rel_bias_of(self.config, H, D)

    def projections(self) -> dict:
        return {"g": Projection(draw=spread)} if self.fading else {}

    def piece(self, q, k, v, t: Tokens, state: Optional[tuple], g: Optional[Tensor] = None, **own):
        q, k = self.rotated(q, t), self.rotated(k, t)
        if g is None:
            (keys, k, v), fade = append(state, t, k, v), 0
        else:
            G = t.mask(double(F.logsigmoid(g))).cumsum(2)
            keys, k, v, fade = append(state, t, k, v, -G)
            fade = fade[:, :, None] + G[..., None]  # (B, H, T, keys), the sum over j < t <= i
            kept, fade = fade[:, :, -1], fade.to(q)
        sink = {"sink": own.pop("sink")} if "sink" in own else {}
        s = q @ turn(k) / math.sqrt(q.shape[-1]) + rel_bias(t, keys, self.rope_base, **own)
        A = self.weights(s, self.sees(t, keys), fade, **sink)
        return A @ v, self.keep(t, keys, k, v, *([] if g is None else [kept]))

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, **own) -> Tensor:
        return self.piece(q, k, v, t, None, **own)[0]

    def weights(self, s: Tensor, sees: Tensor, fade) -> Tensor:
        raise NotImplementedError

    def scaled(self, s: Tensor, sees: Tensor, scale: str) -> Tensor:
        """tau_i s_ij. With n_i keys in V(i) and the length n0 (base), tau_i is

        sqrt     1
        entropy  ln(max(n_i, 16)) / ln(n0)
        logn     max(1, ln(n_i) / ln(n0))
        """
        n, n0 = sees.sum(-1, keepdim=True), self.config.base or 512
        if scale == "entropy":
            s = s * (n.clamp(min=16).log() / math.log(n0))
        elif scale == "logn":
            s = s * (n.clamp(min=1).log() / math.log(n0)).clamp(min=1)
        return s


class Softmax(Pairs):
    """A_ij = e^s_ij / sum over l in V(i) of e^s_il, for s_ij times tau_i; or another weight:

    softmax1  e^s_ij / (1 + sum over l of e^s_il)    relu   max(s_ij, 0) / n_i
    sigmoid   1 / (1 + n_i e^-s_ij)                  relu2  max(s_ij, 0)^2 / n_i
    laplace   (1 + erf((s_ij - mu) / (sigma sqrt 2))) / 2, mu^2 = 1 / 2, sigma^2 = 1 / (4 pi)

    sink is softmax1 with e^b in place of 1, for a learned number b of each head;
    forgetting is a softmax of s_ij plus the sum of logsigmoid(g_t) over j < t <= i.
    """

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.fading, self.sinks = config.weight == "forgetting", config.weight == "sink"

    def own(self, H: int, D: int) -> dict:
        return {"sink": (H,)} if self.sinks else {}

    def weights(self, s: Tensor, sees: Tensor, fade, sink: Optional[Tensor] = None) -> Tensor:
        weight, n = self.config.weight, sees.sum(-1, keepdim=True).clamp(min=1)
        s = self.scaled(s, sees, self.config.scale)
        if weight in ("softmax", "forgetting"):
            return masked_softmax(s + fade, sees)
        if weight in ("softmax1", "sink"):
            s = F.pad(s.masked_fill(~sees, LOWEST), (0, 1))
            if sink is not None:
                s[..., -1] = sink[:, None]
            return s.softmax(-1)[..., :-1] * sees
        if weight == "sigmoid":
            return (s - n.log()).sigmoid() * sees
        if weight == "laplace":
            return (1 + ((s - math.sqrt(0.5)) * math.sqrt(2 * math.pi)).erf()) / 2 * sees
        return (s.relu() if weight == "relu" else s.relu().square()) / n * sees


class Longformer(Softmax):
    """Softmax of a window and g global positions:

    j in V(i) if |i - j| <= reach, or i < g, or j < g (g: global).
    """

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.reach, self.first, self.forgets = config.reach or 64, getattr(config, "global"), True

    def sees(self, t: Tokens, keys: Tokens) -> Tensor:
        i, j = t.pos[:, :, None], keys.pos[:, None, :]
        near = ((i - j).abs() <= self.reach) | (i < self.first) | (j < self.first)
        return super().sees(t, keys) & near[:, None]


class Bigbird(Longformer):
    """Longformer with random blocks: j's block of C positions may also be in R(c), c = i // C.

    R(c) has r (random) of the blocks before c; in a bidirectional model, of all others.
    """

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.C, self.forgets = config.block or 64, False
        self.r, self.seed = config.random, config.pattern_seed

    def sees(self, t: Tokens, keys: Tokens) -> Tensor:
        c, of = t.pos[:, :, None] // self.C, keys.pos[:, None, :] // self.C
        blocks = (t.real.sum(1) + self.C - 1)[:, None, None] // self.C
        n = c if self.causal else blocks - 1 + 0 * c  # other blocks, of which R(c) are drawn
        drawn = torch.zeros_like(c == of)
        for number, others in {*zip(c.flatten().tolist(), n.flatten().tolist())}:
            blocks = torch.tensor(random_blocks(number, others, self.r, self.seed)).to(c)
            drawn = drawn | ((c == number) & (n == others) & torch.isin(of, blocks))
        alike = Mix.sees(self, t, keys)
        return super().sees(t, keys) | (alike & drawn[:, None])


@lru_cache(maxsize=4096)
def random_blocks(c: int, others: int, r: int, seed: int) -> tuple:
    """R(c): r of that many other blocks, by Floyd's algorithm and ./train's random numbers."""

    def mix(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    phi, key, drawn = 0x9E3779B97F4A7C15, 0, []
    for part in (seed, 11, c):  # 11: the purpose
        key = mix(((key ^ part) + phi) % 2**64)
    r = max(0, min(r, others))
    for t in range(r):
        last = others - r + t
        number = mix((key + (t + 1) * phi) % 2**64) * (last + 1) >> 64
        drawn.append(last if number in drawn else number)
    return tuple(number + (number >= c) for number in drawn)  # never c itself


class Sparse(Softmax):
    """Softmax of a window and every w-th key: |i - j| <= w (reach), or i - j is a multiple of w."""

    def sees(self, t: Tokens, keys: Tokens) -> Tensor:
        far, w = (t.pos[:, :, None] - keys.pos[:, None, :]).abs(), self.config.reach or 64
        return super().sees(t, keys) & ((far <= w) | (far % w == 0))[:, None]


class Local(Softmax):
    """Softmax within blocks: j in V(i) if i and j are in the same block of that many positions."""

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.C, self.forgets = config.block or 64, True

    def sees(self, t: Tokens, keys: Tokens) -> Tensor:
        same = t.pos[:, :, None] // self.C == keys.pos[:, None, :] // self.C
        return super().sees(t, keys) & same[:, None]


class Gau(Pairs):
    """A_ij = max(s_ij, 0)^2 / c_i, in a gated unit. The norm chooses c_i:

    n      n_i, the number of keys in V(i)      fixed  n0 (base)
    n2     n_i^2                                sum    guard(sum over l in V(i) of max(s_il, 0)^2)

    or a softmax instead, with that scale: softmax (sqrt), entropy, logn; or of scores that fade,
    forgetting (softmax's).
    """

    layer = "gated"

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.fading = config.norm == "forgetting"

    def weights(self, s: Tensor, sees: Tensor, fade) -> Tensor:
        norm = self.config.norm
        if norm in ("softmax", "entropy", "logn", "forgetting"):
            return masked_softmax(self.scaled(s, sees, norm) + fade, sees)
        w, n = s.relu().square() * sees, sees.sum(-1, keepdim=True).clamp(min=1)
        by = {"n": n, "fixed": self.config.base or 512, "n2": n.float().square()}
        return w / (guard(w.sum(-1, keepdim=True)) if norm == "sum" else by[norm])


class FlashGau(Mix):
    """FLASH: exact in chunks of C positions, linear across them, in a gated unit.

        o_i = sum over j in i's chunk and V(i) of max(q_i.k_j / sqrt(D), 0)^2 / C v_j
              + ql_i^T (sum over the n_i visible chunks c of L_c) / (C n_i)
        L_c = sum over j in chunk c of kl_j v_j^T

    Visible are the chunks before i's own; in a bidirectional model all that have a key. The state
    is the keys of the last chunk, the sum over the chunks before it, its L_c, and c.
    """

    layer = "gated"
    of_z = ("q", "k", "ql", "kl")

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.C, self.forgets = config.chunk or 256, True
        self.step = min(PIECE, self.C)  # so a piece has tokens of two chunks at most

    def sees(self, t: Tokens, keys: Tokens) -> Tensor:
        inside = t.pos[:, :, None] // self.C == keys.pos[:, None, :] // self.C
        before = keys.pos[:, None, :] <= t.pos[:, :, None] if self.causal else True
        return (inside & before & keys.real[:, None, :])[:, None]

    def own(self, H: int, D: int) -> dict:
        return rel_bias_of(self.config, H, D)

    def inside(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, keys: Tokens, **own) -> Tensor:
        s = q @ turn(k) / math.sqrt(q.shape[-1]) + rel_bias(t, keys, self.rope_base, **own)
        return (s.relu().square() * self.sees(t, keys) / self.C) @ v

    def piece(self, q, k, v, ql, kl, t: Tokens, state: Optional[tuple], **own):
        q, k, ql, kl = (self.rotated(x, t) for x in (q, k, ql, kl))
        kl = t.mask(kl)
        chunk = (t.pos // self.C)[:, None, :, None]  # (B, 1, T, 1)
        if state is None:
            none = zeros(v, kl.shape[-1], v.shape[-1])
            kept, before, last, at = None, none, none, zeros(chunk, 1, 1)
        else:
            kept, before, last, at = state
        keys, k, w = append(kept, t, k, v)
        earlier = chunk > turn(chunk)
        sums = ql @ before + (ql @ last) * (chunk > at)
        sums = sums + (ql @ turn(kl) * earlier) @ v
        o = self.inside(q, k, w, t, keys, **own) + sums / (self.C * chunk.clamp(min=1))
        now = chunk[:, :, -1:]
        before = before + last * (now > at) + turn(kl * (chunk < now)) @ v
        last = last * (now == at) + turn(kl * (chunk == now)) @ v
        return o, (self.keep(t, keys, k, w), before, last, now)

    def whole(self, q, k, v, ql, kl, t: Tokens, **own) -> Tensor:
        q, k, ql, kl = (self.rotated(x, t) for x in (q, k, ql, kl))
        chunks = (t.real.sum(1) + self.C - 1) // self.C
        L = turn(t.mask(kl)) @ v / (self.C * chunks.clamp(min=1))[:, None, None, None]
        return self.inside(q, k, v, t, t, **own) + ql @ L


def spread(b: Tensor) -> Tensor:
    """From 2 in the first head to 6 in the last."""
    return torch.linspace(2, 6, b.numel()) if b.numel() > 1 else torch.full_like(b, 2)


class Decay(Mix):
    """A state that fades by e^g_t, for each head and position, with g_t = logsigmoid(w.h_t + b):

        S_t = e^g_t S_t-1 + k_t v_t^T       o_t = S_t^T q_t

    or A_ij = e^-|G_i - G_j| q_i.k_j, with G_t the sum of g_s over s <= t, also bidirectionally.
    """

    def projections(self) -> dict:
        return {"g": Projection(draw=spread)}

    def operands(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, g: Tensor) -> tuple:
        return self.rotated(q, t), self.rotated(k, t), v, F.logsigmoid(g)

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple], **of_h):
        q, k, v, g = self.operands(q, k, v, t, **of_h)
        k, G = t.mask(k), double(t.mask(g)).cumsum(2)[..., None]
        (S,) = state or (zeros(v, k.shape[-1], v.shape[-1]),)
        A = q @ turn(k) * (G - turn(G)).clamp(max=0).exp().to(q).tril()
        o = A @ v + G.exp().to(q) * (q @ S)
        now = G[:, :, -1:]
        S = now.exp().to(q) * S + turn(k * (now - G).exp().to(q)) @ v
        return o, (S,)

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, **of_h) -> Tensor:
        q, k, v, g = self.operands(q, k, v, t, **of_h)
        G = double(t.mask(g)).cumsum(2)[..., None]
        return q @ turn(t.mask(k)) * (-(G - turn(G)).abs()).exp().to(q) @ v


class Retnet(Decay):
    """Retention: e^g = 1 - 2^(-n-h) in head h (n: decay), and q_i.k_j is divided by sqrt(D)."""

    def projections(self) -> dict:
        return {}

    def rate(self, h: int, H: int) -> float:
        return math.log1p(-(2.0 ** (-(self.config.decay or 5) - h)))

    def operands(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens) -> tuple:
        H, ones = q.shape[1], double(torch.ones_like(q[..., 0]))
        g = torch.tensor([self.rate(h, H) for h in range(H)], dtype=torch.float64).to(ones)
        return self.rotated(q, t) / self.divisor(q), self.rotated(k, t), v, g[:, None] * ones

    def divisor(self, q: Tensor) -> float:
        return math.sqrt(q.shape[-1])


class Lightning(Retnet):
    """g = -8 (h + 1) / H (1 - l / L) in head h of H and block l of L, of silu(q) and silu(k);

    with the slopes alibi, g = -2^(-8 (h + 1) / H) (1 - l / L).
    """

    silu = True

    def rate(self, h: int, H: int) -> float:
        x = 8 * (h + 1) / H
        x = 2.0**-x if self.config.slopes == "alibi" else x
        return -x * (1 - self.place / self.config.n_layer)

    def divisor(self, q: Tensor) -> float:
        return 1.0


class Mamba2(Decay):
    """Input in steps: Delta_t = softplus(w.h_t + b) scales v_t, and g_t = -e^A Delta_t.

    All heads have the same q and k (share_keys), and s_h v is added to the output of head h (skip).
    """

    def projections(self) -> dict:
        def steps(b: Tensor) -> Tensor:
            return (1e-3 * 100 ** torch.rand_like(b)).expm1().log()

        def rates(A: Tensor) -> Tensor:
            return (1 + 15 * torch.rand_like(A)).log()

        return {"g": Projection(rate=True, draw=steps, draw_rate=rates)}

    def operands(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, g: Tensor, A: Tensor) -> tuple:
        step = F.softplus(g)
        return q, k, v * step[..., None], -A.to(g).exp()[:, None] * step


class Scan(Mix):
    """A state S (D, E) that next() changes at each position, and o_t = S_t^T q_t. Causal only.

    What belongs to position t is (B, H, D) or (B, H, E) for rows, and (B, H, 1) for numbers.
    """

    def operands(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, **of_h) -> dict:
        """k, v and other things that next() takes; at padding they leave S as it is."""
        raise NotImplementedError

    def next(self, S: Tensor, **at_t) -> Tensor:
        raise NotImplementedError

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple], **of_h):
        (S,) = state or (zeros(v, k.shape[-1], v.shape[-1]),)
        of, o = self.operands(q, k, v, t, **of_h), []
        for i in range(q.shape[2]):
            S = self.next(S, **{name: x[:, :, i] for name, x in of.items()})
            o.append(read(S, q[:, :, i]))
        return torch.stack(o, 2), (S,)


def outer(a: Tensor, b: Tensor) -> Tensor:
    """a b^T"""
    return a[..., :, None] * b[..., None, :]


def read(S: Tensor, q: Tensor) -> Tensor:
    """S^T q"""
    return (q[..., None, :] @ S).squeeze(-2)


class Gla(Scan):
    """Gated linear attention: every feature fades at a rate of its own.

        S_t = diag(e^ga_t) S_t-1 + k_t v_t^T       o_t = S_t^T q_t / sqrt(D)

    with ga_t = logsigmoid(W2 W1 h_t + b) / 16.
    """

    def projections(self) -> dict:
        return {"ga": Projection(each=True, rank=16)}

    def operands(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, ga: Tensor) -> dict:
        a = t.mask(F.logsigmoid(ga) / 16).exp()
        return {"a": a, "k": t.mask(k) / math.sqrt(q.shape[-1]), "v": v}

    def next(self, S: Tensor, a: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return a[..., None] * S + outer(k, v)


class Deltanet(Scan):
    """The delta rule: before v_t is put in under k_t, part of what is there is taken out.

        S_t = Z_t + k_t u_t^T       u_t = beta_t (v_t - Z_t^T k_t)       o_t = S_t^T q_t

    with Z_t = S_t-1, and beta_t = sigmoid(w.h_t + b), or twice that (negative).
    """

    def projections(self) -> dict:
        return {"beta": Projection()}

    def operands(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, beta: Tensor, **of_h) -> dict:
        beta = t.mask((2 if self.config.negative else 1) * beta.sigmoid())
        a = t.mask(self.log_decay(**of_h)).exp() if of_h else torch.ones_like(beta)
        return {"k": k, "v": v, "beta": beta[..., None], "a": a if a.dim() == 4 else a[..., None]}

    def log_decay(self, **of_h) -> Tensor:
        raise NotImplementedError

    def next(self, S: Tensor, k: Tensor, v: Tensor, beta: Tensor, a: Tensor) -> Tensor:
        Z = a[..., None] * S
        return Z + outer(k, beta * (v - read(Z, k)))


class GatedDelta(Deltanet):
    """The delta rule on a state that fades: Z_t = e^g_t S_t-1, g_t = -e^A softplus(w.h_t + b)."""

    def projections(self) -> dict:
        return {**super().projections(), "g": Projection(rate=True)}

    def log_decay(self, g: Tensor, A: Tensor) -> Tensor:
        return -A.to(g).exp()[:, None] * F.softplus(g)


class Kda(Deltanet):
    """The delta rule on a state whose features fade: Z_t = diag(e^ga_t) S_t-1,

    ga_t = -e^A * softplus(W2 W1 h_t + b), with an A for each feature.
    """

    def projections(self) -> dict:
        return {**super().projections(), "ga": Projection(each=True, rank=16, rate=True)}

    def log_decay(self, ga: Tensor, A: Tensor) -> Tensor:
        return -A.to(ga).exp()[:, None] * F.softplus(ga)


class Rwkv7(Scan):
    """A state that is read along one vector and corrected along another:

        S_t = diag(e^ga_t) S_t-1 + b_t (S_t-1^T a_t)^T + k_t v_t^T       o_t = S_t^T q_t

    ga_t = -e^(-1/2) sigmoid(W2 W1 h_t + b''), a_t = -c_t / |c_t| for c_t = W_c h_t + b', and
    b_t = -sigmoid(W_eta h_t + b) * a_t.
    """

    def projections(self) -> dict:
        each = Projection(each=True)
        return {"ga": Projection(each=True, rank=16), "a": each, "b": each}

    def operands(self, q, k, v, t: Tokens, ga: Tensor, a: Tensor, b: Tensor) -> dict:
        a, w = unit(-a), t.mask(-math.exp(-0.5) * ga.sigmoid()).exp()
        return {"k": t.mask(k), "v": v, "w": w, "a": a, "b": t.mask(-b.sigmoid() * a)}

    def next(self, S: Tensor, k: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return w[..., None] * S + outer(b, read(S, a)) + outer(k, v)


class Linear(Mix):
    """Linear attention with a feature map:

        A_ij = phi(q_i).psi(k_j) / guard(sum over l in V(i) of phi(q_i).psi(k_l))

    RoPE rotates the features in the numerator only, or with rope_at "before" q and k instead. The
    state is S = sum of psi(k_j) v_j^T (F, E) and z = sum of psi(k_j) (F); with a window, its keys.
    """

    quotient = True

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.before = self.rope and config.rope_at == "before"

    def rotated(self, x: Tensor, t: Tokens) -> Tensor:
        return x if self.before else super().rotated(x, t)

    def ready(self, x: Tensor, t: Tokens) -> Tensor:
        return rotate(x, t.pos, self.rope_base) if self.before else x

    def psi(self, k: Tensor, t: Tokens, **own) -> Tensor:
        raise NotImplementedError

    def phi(self, q: Tensor, t: Tokens, z: Tensor, **own) -> Tensor:
        """z is that of each row: sum over l in V(i) of psi(k_l)."""
        return self.psi(q, t, **own)

    def divide(self, o: Tensor, c: Tensor) -> Tensor:
        return o / guard(c) if self.quotient else o

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple], **own):
        q, e = self.ready(q, t), t.mask(self.psi(self.ready(k, t), t, **own))
        if self.config.window:
            return self.band(q, e, v, t, state, **own)
        r = self.rotated(e, t)
        S, z = state or (zeros(v, r.shape[-1], v.shape[-1]), zeros(v, 1, r.shape[-1]))
        z_i = z + e.cumsum(2)
        f = self.phi(q, t, z_i, **own)
        g = self.rotated(f, t)
        o = (g @ turn(r)).tril() @ v + g @ S
        c = (f * z_i).sum(-1, keepdim=True)
        return self.divide(o, c), (S + turn(r) @ v, z_i[:, :, -1:])

    def band(self, q: Tensor, e: Tensor, v: Tensor, t: Tokens, state: Optional[tuple], **own):
        keys, e, r, v = append(state, t, e, self.rotated(e, t), v)
        sees = self.sees(t, keys)
        z_i = sees.to(e) @ e
        f = self.phi(q, t, z_i, **own)
        o = (self.rotated(f, t) @ turn(r) * sees) @ v
        c = (f * z_i).sum(-1, keepdim=True)
        return self.divide(o, c), self.keep(t, keys, e, r, v)

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, **own) -> Tensor:
        q, e = self.ready(q, t), t.mask(self.psi(self.ready(k, t), t, **own))
        if self.config.window:
            return self.band(q, e, v, t, None, **own)[0]
        z = e.sum(2, keepdim=True)
        f = self.phi(q, t, z, **own)
        o = self.rotated(f, t) @ (turn(self.rotated(e, t)) @ v)
        return self.divide(o, (f * z).sum(-1, keepdim=True))


class Relu(Linear):
    """phi(x) = psi(x) = max(x, 0)"""

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        return k.relu()


class Elu(Linear):
    """phi(x) = psi(x) = 1 + elu(x): x + 1 where x >= 0, else e^x"""

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        return 1 + F.elu(k)


class Identity(Linear):
    """phi(x) = psi(x) = x"""

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        return k


class Leaky(Linear):
    """phi(x) = psi(x) = x where x >= 0, else x / 100"""

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        return F.leaky_relu(k, 0.01)


class Exp(Linear):
    """phi(x) = psi(x) = e^x

    A row of phi is divided by max over f of e^q_if z_if, which cancels, so that its largest term
    is 1: products of e^q and e^k may overflow where each of them does not.
    """

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        return k.exp()

    def phi(self, q: Tensor, t: Tokens, z: Tensor) -> Tensor:
        top = (q + z.clamp(min=1e-37).log()).amax(-1, keepdim=True)
        return (q - top.detach()).exp()


class Efficient(Linear):
    """phi(q_i)_f = softmax(q_i)_f / z_if, psi(k_j) = e^k_j: rows of A sum to 1 as they are."""

    quotient = False

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        return k.exp()

    def phi(self, q: Tensor, t: Tokens, z: Tensor) -> Tensor:
        return torch.where(z > 0, q.softmax(-1) / torch.where(z > 0, z, 1.0), 0.0)


class Performer(Linear):
    """phi_r(x) = psi_r(x) = e^(omega_r.x' - x'.x' / 2) / sqrt(m), x' = x D^(-1/4), r = 1 .. m

    with random directions omega (H, m, D): an estimate of softmax's weights; or, of the kernel
    relu, max(omega_r.x, 0) + 0.001. omega is fixed (config.redraw is for ./train) or learned.
    """

    def own(self, H: int, D: int) -> dict:
        return {"omega": (H, self.config.features or 4 * D, D)}

    def psi(self, k: Tensor, t: Tokens, omega: Tensor) -> Tensor:
        if self.config.kernel == "relu":
            return (k @ turn(omega.to(k))).relu() + 0.001
        x = k * k.shape[-1] ** -0.25
        along = x @ turn(omega.to(x))
        return (along - x.square().sum(-1, keepdim=True) / 2).exp() / math.sqrt(omega.shape[1])


class Rfa(Linear):
    """phi(x) = psi(x) = [sin(omega x') ; cos(omega x')], x' = x / max(|x|, 1e-6)

    with random directions omega (H, m, D), fixed or learned. If gated, there is no denominator, and
    the state fades as in Decay.
    """

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.scan = FeatureDecay(config, self) if config.gated else None

    def own(self, H: int, D: int) -> dict:
        return {"omega": (H, self.config.features or 2 * D, D)}

    def projections(self) -> dict:
        return self.scan.projections() if self.scan else {}

    def psi(self, k: Tensor, t: Tokens, omega: Tensor) -> Tensor:
        y = F.normalize(k, dim=-1, eps=1e-6) @ turn(omega.to(k))
        return torch.cat((y.sin(), y.cos()), -1)

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple], **own):
        of = self.scan or super()
        return of.piece(q, k, v, t, state, **own)

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, **own) -> Tensor:
        return (self.scan or super()).whole(q, k, v, t, **own)


class FeatureDecay(Decay):
    """A state that fades, of the features of a linear mechanism."""

    def __init__(self, config: AttncConfig, of: Linear):
        super().__init__(config)
        self.of = of

    def operands(self, q, k, v, t: Tokens, g: Tensor, **own) -> tuple:
        q, k = (self.of.psi(self.of.ready(x, t), t, **own) for x in (q, k))
        return self.of.rotated(q, t), self.of.rotated(k, t), v, F.logsigmoid(g)


class Hedgehog(Linear):
    """phi(q) = [softmax(W q) ; softmax(-W q)], and psi(k) with a W of its own: map_q and map_k"""

    def own(self, H: int, D: int) -> dict:
        return {"map_q": (H, D, D), "map_k": (H, D, D)}

    def features(self, x: Tensor, w: Tensor) -> Tensor:
        z = x @ turn(w.to(x))
        return torch.cat((z.softmax(-1), (-z).softmax(-1)), -1)

    def psi(self, k: Tensor, t: Tokens, map_q: Tensor, map_k: Tensor) -> Tensor:
        return self.features(k, map_k)

    def phi(self, q: Tensor, t: Tokens, z: Tensor, map_q: Tensor, map_k: Tensor) -> Tensor:
        return self.features(q, map_q)


class Based(Linear):
    """phi(x) = psi(x) = [1 ; y ; all y_a y_b / sqrt(2)], y = x D^(-1/4)

    phi(q).psi(k) = 1 + s + s^2 / 2 with s = q.k / sqrt(D). ./train keeps y_a y_b but not y_b y_a.
    """

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        y = k * k.shape[-1] ** -0.25
        square = (y[..., :, None] * y[..., None, :]).flatten(-2)
        return torch.cat((torch.ones_like(y[..., :1]), y, square / math.sqrt(2)), -1)


class Cosformer(Linear):
    """phi(x_t) = psi(x_t) = [relu(x_t) cos a_t ; relu(x_t) sin a_t], a_t = pi (t + 1) / 2M

        A_ij ~ relu(q_i).relu(k_j) cos(pi (i - j) / 2M)

    with the horizon M, at least the context and, if bidirectional, the number of tokens. RoPE has a
    ladder of frequencies for each half of the features (rope_ladder d), or in old models one for all (2d).

    The weight would turn negative at a distance of M. So a causal model drops older keys: a row
    sees those from the start of state number c on,

        c_i = max(0, floor((i - M) / half) + 1)     start_i = half c_i     half = ceil(M / 2)

    the last M/2 to M positions. State c sums the keys from half c on; two of them are kept.
    """

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.M = max(config.horizon, config.block_size)
        self.half = (self.M + 1) // 2
        self.step = min(PIECE, self.half)  # so the rows of a piece use two states at most

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        M = self.M if self.causal else double(t.real.sum(1).clamp(min=self.M))[:, None, None, None]
        a = math.pi / (2 * M) * double(t.pos + 1)[:, None, :, None]
        x = k.relu()
        return torch.cat((x * a.cos().to(x), x * a.sin().to(x)), -1)

    def rotated(self, x: Tensor, t: Tokens) -> Tensor:
        halves = x.chunk(2, -1) if self.config.rope_ladder == "d" else (x,)
        return torch.cat([super(Cosformer, self).rotated(half, t) for half in halves], -1)

    def state_of(self, t: Tokens) -> Tensor:
        return (torch.div(t.pos - self.M, self.half, rounding_mode="floor") + 1).clamp(min=0)

    def sees(self, t: Tokens, keys: Tokens) -> Tensor:
        if not self.causal:
            return super().sees(t, keys)
        start = self.half * self.state_of(t)[:, None, :, None]
        return super().sees(t, keys) & (keys.pos[:, None, None, :] >= start)

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple]):
        e = t.mask(self.psi(k, t))
        if self.config.window:
            return self.band(q, e, v, t, state)
        r, f = self.rotated(e, t), self.psi(q, t)
        g, c = self.rotated(f, t), self.state_of(t)[:, None, :, None]  # c: (B, 1, T, 1)
        if state is None:
            S, z = zeros(v, r.shape[-1], v.shape[-1]), zeros(v, r.shape[-1], 1)
            state = (S, z, S, z, zeros(c, 1, 1))
        S, z, S_next, z_next, at = state
        sees = self.sees(t, t)
        o = torch.where(c > at, g @ S_next, g @ S) + (g @ turn(r) * sees) @ v
        d = torch.where(c > at, f @ z_next, f @ z)
        d = d + (f @ turn(e) * sees).sum(-1, keepdim=True)
        now = c[:, :, -1:]
        S, z = torch.where(now > at, S_next, S), torch.where(now > at, z_next, z)
        S_next, z_next = S_next * (now == at), z_next * (now == at)
        pos = t.pos[:, None, :, None]
        of, of_next = pos >= self.half * now, pos >= self.half * (now + 1)
        S, z = S + turn(r * of) @ v, z + (e * of).sum(2)[..., None]
        S_next, z_next = S_next + turn(r * of_next) @ v, z_next + (e * of_next).sum(2)[..., None]
        return self.divide(o, d), (S, z, S_next, z_next, now)


class Fastformer(Mix):
    """Two pools instead of a matrix: with * elementwise, and w.x_j / sqrt(D) as logits,

        pool(x, w)_i = sum over j in V(i) of softmax_j(w.x_j / sqrt(D)) x_j
        g = pool(q, pool_q)     p_j = g_j * k_j     h = pool(p, pool_k)     o_i = h_i * v_i

    The interaction add has p_j = g_j + k_j and o_i = h_i + v_i; concat has p_j = W [g_j ; k_j] and
    o_i = W' [h_i ; v_i] (products first, in old models: only p). The state of a pool is its largest
    logit m, and the sums of e^(logit - m) x_j and e^(logit - m).
    """

    layer = "pooled"

    def own(self, H: int, D: int) -> dict:
        heads = 1 if self.config.share_heads else H
        pools = 1 if self.config.share_pools else heads
        own = {"pool_q": (pools, D), "pool_k": (pools, D)}
        if self.config.interaction == "concat":
            own["concat"] = (heads, D, 2 * D)
            if self.config.products == "both":
                own["concat_v"] = (heads, D, 2 * D)
        return own

    def logits(self, x: Tensor, w: Tensor, t: Tokens) -> Tensor:
        s = (x * w[:, None].to(x)).sum(-1) / math.sqrt(x.shape[-1])
        return s.masked_fill(~t.real[:, None], LOWEST)

    def interact(self, g: Tensor, k: Tensor, W: Optional[Tensor]) -> Tensor:
        if self.config.interaction == "concat":
            return torch.cat((g.expand_as(k), k), -1) @ turn(W.to(k))
        return g + k if self.config.interaction == "add" else g * k

    def meet(self, h: Tensor, v: Tensor, W: Optional[Tensor]) -> Tensor:
        return self.interact(h, v, W) if self.config.products == "both" else h * v

    def prefixes(self, x: Tensor, w: Tensor, t: Tokens, state: Optional[tuple]):
        """The pool of each prefix."""
        s = self.logits(x, w, t)
        y, l, m = state or (zeros(x, 1, x.shape[-1]), zeros(s, 1), zeros(s, 1) + LOWEST)
        top = torch.maximum(s.cummax(-1).values, m).detach()
        A = torch.where(t.real[:, None, None], s[:, :, None] - top[..., None], LOWEST)
        A = A.clamp(max=0).exp().tril()
        fade = (m - top).exp()
        y, l = A @ x + fade[..., None] * y, A.sum(-1) + fade * l
        return y / l.clamp(min=1e-30)[..., None], (y[:, :, -1:], l[:, :, -1:], top[:, :, -1:])

    def piece(self, q, k, v, t: Tokens, state, pool_q, pool_k, concat=None, concat_v=None):
        of_q, of_p = state or (None, None)
        g, of_q = self.prefixes(q, pool_q, t, of_q)
        h, of_p = self.prefixes(self.interact(g, k, concat), pool_k, t, of_p)
        return self.meet(h, v, concat_v), (of_q, of_p)

    def pool(self, x: Tensor, w: Tensor, t: Tokens) -> Tensor:
        a = self.logits(x, w, t).softmax(-1) * t.real[:, None]
        return a[:, :, None] @ x

    def whole(self, q, k, v, t: Tokens, pool_q, pool_k, concat=None, concat_v=None) -> Tensor:
        p = self.interact(self.pool(q, pool_q, t), k, concat)
        return self.meet(self.pool(p, pool_k, t), v, concat_v)


class Synthesizer(Mix):
    """A softmax over j in V(i) of scores that do not compare q with k:

        s_ij = max(q_i, 0).W_j (dense), or R_ij (random)

    with a column of W (H, D, context) for each position, or R (H, context, context).
    """

    placed = True

    def inputs(self) -> str:
        return "qv" if self.config.kind == "dense" else "v"

    def own(self, H: int, D: int) -> dict:
        c = self.config.block_size
        return {"w": (H, D, c)} if self.config.kind == "dense" else {"r": (H, c, c)}

    def piece(self, q, k, v, t: Tokens, state, w: Optional[Tensor] = None, r=None):
        keys, v = append(state, t, v)
        if w is None:
            s = r[:, t.pos[:, :, None], keys.pos[:, None, :]].transpose(0, 1).to(v)
        else:
            s = q.relu() @ w[:, :, keys.pos].permute(2, 0, 1, 3).to(q)
        return masked_softmax(s, self.sees(t, keys)) @ v, (keys, v)

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, **own) -> Tensor:
        return self.piece(q, k, v, t, None, **own)[0]


class Poolingformer(Mix):
    """A softmax over the keys at most `near` away, plus one over means of keys and of values.

    Pool p is of the positions xi p .. xi p + kappa - 1 (pool_stride, pool_size) that exist. A row
    sees it if all of these, existing or not, are at most `far` away and, if causal, not after it.
    """

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.near, self.far = config.near or 128, config.far or 512
        self.size, self.stride = config.pool_size or 5, config.pool_stride or 4

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple]):
        keys, k, v = append(state, t, k, v)
        q = q / math.sqrt(q.shape[-1])
        far = (t.pos[:, :, None] - keys.pos[:, None, :]).abs()[:, None]
        o = masked_softmax(q @ turn(k), self.sees(t, keys) & (far <= self.near)) @ v
        begin, end = max(0, int(t.pos.min()) - self.far), int(keys.pos.max())
        p = torch.arange(begin // self.stride, end // self.stride + 1, device=q.device)
        has, sees = self.pools(p * self.stride, t, keys)
        mean = has / has.sum(-1, keepdim=True).clamp(min=1)
        o = o + masked_softmax(q @ turn(mean.to(k) @ k), sees) @ (mean.to(v) @ v)
        after = t.pos[:, -1:] + 1 - keys.pos
        return o, only((keys.real & (after <= max(self.near, self.far))).any(0), keys, k, v)

    def pools(self, first: Tensor, t: Tokens, keys: Tokens) -> tuple:
        """Which keys the pools have, (B, 1, pools, keys), and which rows see them."""
        last, i, j = first + self.size - 1, t.pos[:, :, None], keys.pos[:, None, :]
        has = keys.real[:, None, :] & (j >= first[:, None]) & (j <= last[:, None])
        sees = ((i - first).abs() <= self.far) & ((i - last).abs() <= self.far)
        sees = sees & has.any(-1)[:, None, :] & (i >= last if self.causal else True)
        return has[:, None], sees[:, None]

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens) -> Tensor:
        return self.piece(q, k, v, t, None)[0]


class Reformer(Mix):
    """A softmax over keys of the same hash bucket, where k_j = q_j / |q_j|:

        A_ij = N_ij e^s_ij / sum over l of N_il e^s_il       s_ij = q_i.k_j / sqrt(D)

    with N_ij the number of rounds in which row i sees key j. In a round the bucket of q is the
    index of the largest of [omega q ; -omega q]; positions sorted by bucket are cut into chunks, or
    those of each bucket if causal; and a row sees its chunk and the one before, but itself only if
    there is no other in any round. The state has keys of the last chunks, with their buckets and chunks,
    and the number of keys in each bucket.
    """

    def __init__(self, config: AttncConfig, place: int = 0):
        super().__init__(config, place)
        self.rounds, self.buckets = config.rounds or 2, config.buckets or 16
        self.C = config.chunk or 256

    def inputs(self) -> str:
        return "qv"

    def own(self, H: int, D: int) -> dict:
        return {"omega": (H, self.rounds, self.buckets // 2, D)}

    def hashes(self, q: Tensor, omega: Tensor) -> Tensor:
        """(B, H, T, rounds)"""
        y = torch.einsum("bhtd,hrcd->bhtrc", double(q), double(omega))
        return torch.cat((y, -y), -1).argmax(-1)

    def attend(self, q, t: Tokens, keys: Tokens, k: Tensor, v: Tensor, sees: Tensor) -> Tensor:
        """sees: in which round, (B, H, T, keys, rounds)."""
        itself = (t.pos[:, :, None] == keys.pos[:, None, :])[:, None]
        N = sees.sum(-1) * (self.sees(t, keys) & ~itself)
        alone = N.sum(-1, keepdim=True) == 0
        N = torch.where(alone & itself & self.sees(t, keys), 1, N)
        s = q @ turn(k) / math.sqrt(q.shape[-1]) + N.clamp(min=1).to(q).log()
        return masked_softmax(s, N > 0) @ v

    def piece(self, q, k, v, t: Tokens, state: Optional[tuple], omega: Tensor):
        k, h = F.normalize(q, dim=-1, eps=1e-6), self.hashes(q, omega)
        kept, count = state or (None, zeros(h, 1, self.rounds, self.buckets))
        counts = count + t.mask(F.one_hot(h, self.buckets)).cumsum(2)
        chunk = (counts.gather(-1, h[..., None])[..., 0] - 1) // self.C
        keys, k, v, hs, chunks = append(kept, t, k, v, h, chunk)
        far = chunk[:, :, :, None] - chunks[:, :, None]
        sees = (h[:, :, :, None] == hs[:, :, None]) & (far >= 0) & (far <= 1)
        o, count = self.attend(q, t, keys, k, v, sees), counts[:, :, -1:]
        last = (count // self.C).expand(-1, -1, hs.shape[2], -1, -1).gather(-1, hs[..., None])
        seen = (chunks >= last[..., 0] - 1).any(-1).any(1) & keys.real
        return o, (only(seen.any(0), keys, k, v, hs, chunks), count)

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, omega: Tensor) -> Tensor:
        k, T = F.normalize(q, dim=-1, eps=1e-6), q.shape[2]
        place = self.hashes(q, omega) * T + t.pos[:, None, :, None]  # by bucket, then position
        place = torch.where(t.real[:, None, :, None], place, self.buckets * T)
        chunk = place.argsort(2).argsort(2) // self.C
        far = chunk[:, :, :, None] - chunk[:, :, None]
        return self.attend(q, t, t, k, v, (far == 0) | (far == 1))


class Linformer(Mix):
    """A softmax over m (rank) mixtures of the keys, whose weights depend on positions:

        o_i = sum over r of softmax_r(q_i.k~_r / sqrt(D)) v~_r       k~_r = sum over j of E_rj k_j

    and v~_r with F. Bidirectional only.
    """

    placed = True

    def own(self, H: int, D: int) -> dict:
        shape = (H, self.config.rank or 64, self.config.block_size)
        return {"e": shape, "f": shape}

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, e: Tensor, f: Tensor) -> Tensor:
        k = e[:, :, t.pos].permute(2, 0, 1, 3).to(k) @ t.mask(k)
        v = f[:, :, t.pos].permute(2, 0, 1, 3).to(v) @ t.mask(v)
        return (q @ turn(k) / math.sqrt(q.shape[-1])).softmax(-1) @ v


class Nystromformer(Mix):
    """Exact attention through m landmarks, the means q~ and k~ of segments of n / m positions:

        O = softmax(Q K~^T) A^+ softmax(Q~ K^T) V       A = softmax(Q~ K~^T)

    all divided by sqrt(D) before the softmax. A^+ is the pseudoinverse, or nearly. Bidirectional
    only.
    """

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens) -> Tensor:
        o = torch.zeros_like(v)
        for b, real in enumerate(t.real):
            if bool(real.any()):
                o[b, :, real] = self.one(q[b, :, real], k[b, :, real], v[b, :, real])
        return o

    def one(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Of a sequence without padding: (H, n, E)."""
        n = q.shape[1]
        m = min(self.config.landmarks or 64, n)
        begin = [r * n // m for r in range(m + 1)]
        q_, k_ = (
            torch.stack([x[:, i:j].mean(1) for i, j in zip(begin, begin[1:])], 1) for x in (q, k)
        )
        A, of_q, of_k = self.scores(q_, k_), self.scores(q, k_), self.scores(q_, k)
        return of_q @ (self.inverse(A) @ (of_k @ v))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q @ turn(k) / math.sqrt(q.shape[-1])).softmax(-1)

    def inverse(self, A: Tensor) -> Tensor:
        """Six steps of Z <- Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4."""
        Z, one = turn(A) / A.sum(1).amax(-1)[:, None, None], torch.eye(A.shape[-1]).to(A)
        for _ in range(6):
            P = A @ Z
            Z = Z @ (13 * one - P @ (15 * one - P @ (7 * one - P))) / 4
        return Z


MIXES = {
    "softmax": Softmax,
    "longformer": Longformer,
    "bigbird": Bigbird,
    "sparse": Sparse,
    "local": Local,
    "relu": Relu,
    "elu": Elu,
    "exp": Exp,
    "cosformer": Cosformer,
    "performer": Performer,
    "efficient": Efficient,
    "identity": Identity,
    "leaky": Leaky,
    "hedgehog": Hedgehog,
    "based": Based,
    "rfa": Rfa,
    "retnet": Retnet,
    "decay": Decay,
    "lightning": Lightning,
    "mamba2": Mamba2,
    "deltanet": Deltanet,
    "gated-delta": GatedDelta,
    "kda": Kda,
    "rwkv7": Rwkv7,
    "gla": Gla,
    "fastformer": Fastformer,
    "gau": Gau,
    "flash-gau": FlashGau,
    "linformer": Linformer,
    "nystromformer": Nystromformer,
    "synthesizer": Synthesizer,
    "poolingformer": Poolingformer,
    "reformer": Reformer,
}
