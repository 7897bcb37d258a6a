"""The models of attn.c for Hugging Face's transformers, in plain torch.

A transformer with pre-norm blocks, whose attention is one of the mechanisms in MIXES below:

    x = embedding(tokens)
    x = x + attention(norm(x))      for each block; or two gated units
    x = x + ffn(norm(x))
    logits = norm(x) head^T

Letters: B sequences of T tokens; H heads; q and k have D numbers per head, v has E; F features.
V(i) is the set of keys that row i sees: all of its sequence or, in a causal model, those up to i;
never padding; with a window w, none further away than w. A row that sees no key outputs zeros.

A causal mechanism reads a sequence in pieces: piece() takes some tokens and the state that earlier
ones left, and returns their outputs and the new state. Training runs it over long pieces, decoding
over pieces of one token; the two compute the same. A state is a tuple of tensors (B, ...).
"""

import math
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import Cache, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPast as Output
from transformers.modeling_outputs import CausalLMOutputWithPast, MaskedLMOutput

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
        return x * self.real[:, None, :, None]


def double(pos: Tensor) -> Tensor:
    """Angles of late positions need it, where the device can."""
    return pos.float() if pos.device.type == "mps" else pos.double()


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


class Mix:
    """o (B, H, T, E) from the rows q, k (B, H, T, D) and v (B, H, T, E)."""

    layer = "heads"  # the layer around it
    of_z = ("q", "k")  # what a gated unit computes from z

    def __init__(self, config: AttncConfig):
        self.config, self.causal, self.step = config, config.task == "causal", PIECE
        self.rope, self.forgets = config.position == "rope", bool(config.window)
        self.rope_base = float(config.rope_base or 10000)

    def own(self, H: int, D: int) -> dict:
        """The names and shapes of parameters of its own, which piece() and whole() get."""
        return {}

    def __call__(self, rows: list, t: Tokens, state: Optional[tuple], **own):
        dtype, T = rows[0].dtype, t.pos.shape[1]
        rows = [x if x.dtype == torch.float64 else x.float() for x in rows]
        if not self.causal:
            return self.whole(*rows, t, **own).to(dtype), None
        o = []
        for i in range(0, T, self.step):
            part = [x[:, :, i : i + self.step] for x in rows]
            y, state = self.piece(*part, t.part(i, i + self.step), state, **own)
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
        first = int(seen.float().argmax()) if bool(seen.any()) else seen.numel()
        return (Tokens(keys.pos[:, first:], keys.real[:, first:]), *(x[:, :, first:] for x in of))


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

    The state is all keys and values that a later row can see.
    """

    def own(self, H: int, D: int) -> dict:
        return rel_bias_of(self.config, H, D)

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple], **own):
        q, k = self.rotated(q, t), self.rotated(k, t)
        keys, k, v = append(state, t, k, v)
        s = q @ turn(k) / math.sqrt(q.shape[-1]) + rel_bias(t, keys, self.rope_base, **own)
        A = self.weights(s, self.sees(t, keys))
        return A @ v, self.keep(t, keys, k, v)

    def whole(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, **own) -> Tensor:
        return self.piece(q, k, v, t, None, **own)[0]

    def weights(self, s: Tensor, sees: Tensor) -> Tensor:
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

    def softmax(self, s: Tensor, sees: Tensor, scale: str) -> Tensor:
        """Of tau_i s_ij over j in V(i)."""
        s = self.scaled(s, sees, scale)
        return s.masked_fill(~sees, LOWEST).softmax(-1) * sees


class Softmax(Pairs):
    """A_ij = e^s_ij / sum over l in V(i) of e^s_il, for s_ij times tau_i; or another weight:

    softmax1  e^s_ij / (1 + sum over l of e^s_il)    relu   max(s_ij, 0) / n_i
    sigmoid   1 / (1 + n_i e^-s_ij)                  relu2  max(s_ij, 0)^2 / n_i
    laplace   (1 + erf((s_ij - mu) / (sigma sqrt 2))) / 2, mu^2 = 1 / 2, sigma^2 = 1 / (4 pi)
    """

    def weights(self, s: Tensor, sees: Tensor) -> Tensor:
        weight, n = self.config.weight, sees.sum(-1, keepdim=True).clamp(min=1)
        if weight == "softmax":
            return self.softmax(s, sees, self.config.scale)
        s = self.scaled(s, sees, self.config.scale)
        if weight == "softmax1":
            s = F.pad(s.masked_fill(~sees, LOWEST), (0, 1))
            return s.softmax(-1)[..., :-1] * sees
        if weight == "sigmoid":
            return (s - n.log()).sigmoid() * sees
        if weight == "laplace":
            return (1 + ((s - math.sqrt(0.5)) * math.sqrt(2 * math.pi)).erf()) / 2 * sees
        return (s.relu() if weight == "relu" else s.relu().square()) / n * sees


class Gau(Pairs):
    """A_ij = max(s_ij, 0)^2 / c_i, in a gated unit. The norm chooses c_i:

    n      n_i, the number of keys in V(i)      fixed  n0 (base)
    n2     n_i^2                                sum    guard(sum over l in V(i) of max(s_il, 0)^2)

    or a softmax instead, with that scale: softmax (sqrt), entropy, logn.
    """

    layer = "gated"

    def weights(self, s: Tensor, sees: Tensor) -> Tensor:
        norm = self.config.norm
        if norm in ("softmax", "entropy", "logn"):
            return self.softmax(s, sees, norm)
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

    def __init__(self, config: AttncConfig):
        super().__init__(config)
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


class Retnet(Mix):
    """A_ij = a^(i - j) q_i.k_j / sqrt(D), where head h keeps a = 1 - 2^(-n-h) (n: decay) of its

    state:  S_t = a S_t-1 + k_t v_t^T,  o_t = S_t^T q_t / sqrt(D). Causal only.
    """

    def piece(self, q: Tensor, k: Tensor, v: Tensor, t: Tokens, state: Optional[tuple]):
        n, H = self.config.decay or 5, q.shape[1]
        log_a = torch.tensor([math.log1p(-(2.0 ** (-n - h))) for h in range(H)])
        log_a = log_a.to(q)[:, None, None]  # (H, 1, 1)
        q, k = self.rotated(q, t) / math.sqrt(q.shape[-1]), t.mask(self.rotated(k, t))
        pos = t.pos[:, None, :, None]  # (B, 1, T, 1)
        S, last = state or (zeros(v, k.shape[-1], v.shape[-1]), pos[:, :, :1])
        far = pos - turn(pos)
        A = q @ turn(k) * (far.clamp(min=0) * log_a).exp() * (far >= 0)
        o = A @ v + ((pos - last) * log_a).exp() * (q @ S)
        now = pos[:, :, -1:]
        S = ((now - last) * log_a).exp() * S
        S = S + turn(k * ((now - pos) * log_a).exp()) @ v
        return o, (S, now)


class Linear(Mix):
    """Linear attention with a feature map:

        A_ij = phi(q_i).psi(k_j) / guard(sum over l in V(i) of phi(q_i).psi(k_l))

    RoPE rotates the features in the numerator only, or with rope_at "before" q and k instead. The
    state is S = sum of psi(k_j) v_j^T (F, E) and z = sum of psi(k_j) (F); with a window, its keys.
    """

    quotient = True

    def __init__(self, config: AttncConfig):
        super().__init__(config)
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

    with random directions omega (H, m, D): an estimate of softmax's weights; or, of the kernel relu,
    max(omega_r.x, 0) + 0.001. omega is fixed (config.redraw is for ./train) or learned.
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

    with random directions omega (H, m, D), fixed or learned.
    """

    def own(self, H: int, D: int) -> dict:
        return {"omega": (H, self.config.features or 2 * D, D)}

    def psi(self, k: Tensor, t: Tokens, omega: Tensor) -> Tensor:
        y = F.normalize(k, dim=-1, eps=1e-6) @ turn(omega.to(k))
        return torch.cat((y.sin(), y.cos()), -1)


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

    with the horizon M, at least the context. RoPE has a ladder of frequencies for each half of the
    features (rope_ladder d), or in old models one for all (2d).

    The weight would turn negative at a distance of M. So a causal model drops older keys: a row
    sees those from the start of state number c on,

        c_i = max(0, floor((i - M) / half) + 1)     start_i = half c_i     half = ceil(M / 2)

    the last M/2 to M positions. State c sums the keys from half c on; two of them are kept.
    """

    def __init__(self, config: AttncConfig):
        super().__init__(config)
        self.M = max(config.horizon, config.block_size)
        self.half = (self.M + 1) // 2
        self.step = min(PIECE, self.half)  # so the rows of a piece use two states at most

    def psi(self, k: Tensor, t: Tokens) -> Tensor:
        M = self.M if self.causal else max(self.M, t.pos.shape[1])
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


MIXES = {
    "softmax": Softmax,
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
    "fastformer": Fastformer,
    "gau": Gau,
    "flash-gau": FlashGau,
}


# ------------------------------------------------------------------------------------- layers


class Weights(nn.Module):
    """A parameter of a mechanism."""

    def __init__(self, *shape: int, std: Optional[float] = None):
        super().__init__()
        self.std = shape[-1] ** -0.5 if std is None else std
        self.weight = nn.Parameter(torch.zeros(shape))


class Gain(nn.Module):
    """What the norm of all heads multiplies by."""

    def __init__(self, n: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))


class Norm(nn.Module):
    """RMSNorm, weight x / sqrt(mean(x^2) + norm_eps); or LayerNorm, of x - mean(x), with a bias."""

    def __init__(self, config: AttncConfig):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.n_embd))
        self.eps = float(config.norm_eps)
        centred = config.layer_norm == "layer"
        self.bias = nn.Parameter(torch.zeros(config.n_embd)) if centred else None

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.bias is None else x - x.mean(-1, keepdim=True)
        y = self.weight * root_mean_square_norm(y, self.eps)
        return y if self.bias is None else y + self.bias


def root_mean_square_norm(x: Tensor, eps: float = 1e-5) -> Tensor:
    y = x if x.dtype == torch.float64 else x.float()
    return (y * (y.square().mean(-1, keepdim=True) + eps).rsqrt()).to(x.dtype)


def onto(layer, x: Tensor, y: Tensor) -> Tensor:
    """The output of a layer with the input x."""
    return x + y if layer.residual else y


def split(x: Tensor, H: int) -> Tensor:
    """(B, T, H D) to (B, H, T, D)"""
    return x.unflatten(-1, (H, -1)).transpose(1, 2)


def join(x: Tensor) -> Tensor:
    """(B, H, T, E) to (B, T, H E)"""
    return x.transpose(1, 2).flatten(2)


class Heads(nn.Module):
    """x + (silu(h W_g^T) * norm(mix(q, k, v))) W_o^T; q, k, v = h W^T, h = norm(x)

    with the gate if out_gate, and the norm, of each head, if out_norm is rms; if it is all, that of
    all heads together, of the product with the gate, times a gain.
    """

    def __init__(self, config: AttncConfig):
        super().__init__()
        width, H, bias = config.n_embd, config.n_head, bool(config.bias)
        D = config.key_size or width // H
        self.residual = not config.no_residual
        self.H, self.mix, self.head_norm = H, MIXES[config.attn](config), config.out_norm == "rms"
        self.norm = Norm(config)
        self.wq = nn.Linear(width, H * D, bias=bias)
        self.wk = nn.Linear(width, H * D, bias=bias)
        self.wv = nn.Linear(width, width, bias=bias)
        self.wo = nn.Linear(width, width, bias=bias)
        self.wg = nn.Linear(width, width, bias=bias) if config.out_gate else None
        self.out_norm = Gain(width) if config.out_norm == "all" else None
        self.own = self.mix.own(H, D)
        for name, shape in self.own.items():
            setattr(self, name, Weights(*shape))
        if "omega" in self.own:
            self.omega.weight.requires_grad, self.omega.std = bool(config.learn_omega), 1.0

    def forward(self, x: Tensor, t: Tokens, state: Optional[tuple]):
        h = self.norm(x)
        own = {name: getattr(self, name).weight for name in self.own}
        rows = [split(w(h), self.H) for w in (self.wq, self.wk, self.wv)]
        o, state = self.mix(rows, t, state, **own)
        o = join(root_mean_square_norm(o) if self.head_norm else o)
        o = o if self.wg is None else F.silu(self.wg(h)) * o
        o = o if self.out_norm is None else root_mean_square_norm(o) * self.out_norm.weight
        return onto(self, x, self.wo(o)), state


class Pooled(nn.Module):
    """x + mix(q, k, v) W_o^T + q; q, k, v = h W^T, h = norm(x)

    with weights that may be shared: W_q and W_v (share_qv), those of all blocks (share_layers) but
    the norm, the pooling vectors of all heads (share_pools), all of a head but W_o (share_heads).
    """

    def __init__(self, config: AttncConfig, first: Optional["Pooled"]):
        super().__init__()
        width, H, bias = config.n_embd, config.n_head, bool(config.bias)
        self.residual = not config.no_residual
        self.H, self.mix = H, MIXES[config.attn](config)
        self.norm = Norm(config)
        self.of = [first if first and config.share_layers else self]  # a list, so as not to own it
        if self.of[0] is not self:
            return
        self.same = H if config.share_heads else 1  # heads with the same rows of weights
        self.wq = nn.Linear(width, width // self.same, bias=bias)
        self.wk = nn.Linear(width, width // self.same, bias=bias)
        self.wv = None if config.share_qv else nn.Linear(width, width // self.same, bias=bias)
        self.wo = nn.Linear(width, width, bias=bias)
        self.own = self.mix.own(H, width // H)
        for name, shape in self.own.items():
            setattr(self, name, Weights(*shape))

    def forward(self, x: Tensor, t: Tokens, state: Optional[tuple]):
        h, of = self.norm(x), self.of[0]
        own = {name: getattr(of, name).weight for name in of.own}
        q, k = of.wq(h).repeat(1, 1, of.same), of.wk(h).repeat(1, 1, of.same)
        v = q if of.wv is None else of.wv(h).repeat(1, 1, of.same)
        rows = [split(x, self.H) for x in (q, k, v)]
        o, state = self.mix(rows, t, state, **own)
        return onto(self, x, of.wo(join(o)) + q), state


class Gated(nn.Module):
    """x + (u * mix(q, k, v)) W_o^T; u, v, z = silu(h W^T), h = norm(x), q = gamma_q z + beta_q, ...

    with u and v twice as wide as x, split into heads like q and k, whose heads are key_size wide.
    Without the gate, u is 1.
    """

    def __init__(self, config: AttncConfig):
        super().__init__()
        width, H, bias = config.n_embd, config.n_head, bool(config.bias)
        D = H * (config.key_size or max(64 // H * 2, 2))
        self.residual = not config.no_residual
        self.H, self.mix = H, MIXES[config.attn](config)
        self.norm = Norm(config)
        self.wu = nn.Linear(width, 2 * width, bias=bias) if config.gate else None
        self.wv = nn.Linear(width, 2 * width, bias=bias)
        self.wz = nn.Linear(width, D, bias=bias)
        self.wo = nn.Linear(2 * width, width, bias=bias)
        for name in self.mix.of_z:
            setattr(self, "gamma_" + name, Weights(D, std=3.0))
            setattr(self, "beta_" + name, Weights(D, std=0.0))
        self.own = self.mix.own(H, D // H)
        for name, shape in self.own.items():
            setattr(self, name, Weights(*shape))

    def of_z(self, z: Tensor, name: str) -> Tensor:
        return getattr(self, "gamma_" + name).weight * z + getattr(self, "beta_" + name).weight

    def forward(self, x: Tensor, t: Tokens, state: Optional[tuple]):
        h = self.norm(x)
        z, v = F.silu(self.wz(h)), F.silu(self.wv(h))
        rows = [split(self.of_z(z, name), self.H) for name in self.mix.of_z]
        own = {name: getattr(self, name).weight for name in self.own}
        o, state = self.mix([*rows[:2], split(v, self.H), *rows[2:]], t, state, **own)
        o = join(o) if self.wu is None else F.silu(self.wu(h)) * join(o)
        return onto(self, x, self.wo(o)), state


class FeedForward(nn.Module):
    """x + gelu(h W_up^T) W_down^T; or swiglu, x + (silu(h W_gate^T) * h W_up^T) W_down^T"""

    def __init__(self, config: AttncConfig):
        super().__init__()
        width, bias, swiglu = config.n_embd, bool(config.bias), config.ffn == "swiglu"
        self.residual = not config.no_residual
        hidden = config.n_inner or ((8 * width // 3 + 15) // 16 * 16 if swiglu else 4 * width)
        self.norm = Norm(config)
        self.up = nn.Linear(width, hidden, bias=bias)
        self.gate = nn.Linear(width, hidden, bias=bias) if swiglu else None
        self.down = nn.Linear(hidden, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        up = self.up(h)
        up = F.gelu(up, approximate="tanh") if self.gate is None else F.silu(self.gate(h)) * up
        return onto(self, x, self.down(up))


class Block(nn.Module):
    def __init__(self, config: AttncConfig, first: Optional["Block"]):
        super().__init__()
        layer = MIXES[config.attn].layer
        if layer == "gated":
            self.first, self.second = Gated(config), Gated(config)
            self.mixes, self.ffn = 2, None
            return
        self.attn = Heads(config) if layer == "heads" else Pooled(config, first and first.attn)
        self.mixes, self.ffn = 1, None if config.ffn == "none" else FeedForward(config)

    def forward(self, x: Tensor, t: Tokens, states: list):
        for i, mix in enumerate((self.first, self.second) if self.mixes == 2 else (self.attn,)):
            x, states[i] = mix(x, t, states[i])
        return (x if self.ffn is None else self.ffn(x)), states


# ------------------------------------------------------------------------------------- models


def each(f, state):
    """The same state with f of each tensor."""
    if state is None or isinstance(state, Tensor):
        return None if state is None else f(state)
    parts = [each(f, x) for x in state]
    return Tokens(*parts) if isinstance(state, Tokens) else type(state)(parts)


class AttncCache(Cache):
    """The state of every mix. For linear mechanisms its size does not depend on the tokens read."""

    def __init__(self, mixes: int):
        super().__init__(layers=[])
        self.states, self.read, self.seen = [None] * mixes, 0, None

    def __len__(self) -> int:
        return len(self.states)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.read

    def change(self, f):
        self.states, self.seen = each(f, self.states), each(f, self.seen)

    def reorder_cache(self, beam_idx: Tensor):
        self.change(lambda x: x.index_select(0, beam_idx.to(x.device)))

    def batch_select_indices(self, indices: Tensor):
        self.change(lambda x: x[indices])

    def batch_repeat_interleave(self, repeats: int):
        self.change(lambda x: x.repeat_interleave(repeats, 0))

    def reset(self):
        self.states, self.read, self.seen = [None] * len(self.states), 0, None

    def crop(self, *args):
        raise NotImplementedError("attn.c: the state of a linear mechanism cannot forget tokens")

    @property
    def is_croppable(self) -> bool:
        return False


class AttncPreTrainedModel(PreTrainedModel):
    config_class = AttncConfig
    base_model_prefix = "model"
    _no_split_modules = ["Block"]
    _is_stateful = True  # generate() leaves the cache to the model

    def _init_weights(self, module: nn.Module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=(3 * module.in_features) ** -0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        elif isinstance(module, Norm):
            nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, Gain):
            nn.init.ones_(module.weight)
        elif isinstance(module, Weights):
            nn.init.normal_(module.weight, std=module.std)


class AttncModel(AttncPreTrainedModel):
    """The blocks and the last norm."""

    def __init__(self, config: AttncConfig):
        super().__init__(config)
        if config.attn not in MIXES:
            raise ValueError(f"attn.c: no attention is called {config.attn}")
        self.embed = nn.Embedding(config.vocab_size, config.n_embd)
        learned = config.position == "learned"
        self.position = nn.Embedding(config.block_size, config.n_embd) if learned else None
        self.blocks = nn.ModuleList()
        for i in range(config.n_layer):
            self.blocks.append(Block(config, self.blocks[0] if i else None))
        self.norm = Norm(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embed

    def set_input_embeddings(self, value: nn.Module):
        self.embed = value

    def tokens_of(self, x: Tensor, mask: Optional[Tensor], cache: Optional[AttncCache]) -> Tokens:
        """From a mask (B, tokens so far), whose last columns are those of the new tokens."""
        B, T = x.shape[:2]
        if mask is not None and mask.dim() != 2:
            raise ValueError("attn.c: an attention mask has a number per token: (B, T)")
        real = torch.ones(B, T, device=x.device) if mask is None else mask[:, -T:].to(x.device)
        count = (real != 0).long().cumsum(1)
        if cache is not None:
            count = count if cache.seen is None else count + cache.seen
            cache.read, cache.seen = cache.read + T, count[:, -1:]
        return Tokens((count - 1).clamp(min=0), real != 0)

    def forward(
        self,
        input_ids: Optional[Tensor] = None,
        attention_mask: Optional[Tensor] = None,
        past_key_values: Optional[AttncCache] = None,
        inputs_embeds: Optional[Tensor] = None,
        use_cache: Optional[bool] = None,
        output_hidden_states: Optional[bool] = None,
        return_dict: Optional[bool] = None,
        **kwargs,
    ):
        x = self.embed(input_ids) if inputs_embeds is None else inputs_embeds
        use_cache = self.config.use_cache and not self.training if use_cache is None else use_cache
        cache = past_key_values if isinstance(past_key_values, AttncCache) else None
        if use_cache and self.config.task == "causal" and cache is None:
            cache = AttncCache(sum(block.mixes for block in self.blocks))
        t = self.tokens_of(x, attention_mask, cache)
        if self.position is not None:
            if int(t.pos.max()) >= self.config.block_size:
                raise ValueError(f"attn.c: there are {self.config.block_size} learned positions")
            x = x + self.position(t.pos)
        elif self.config.position == "sinusoidal":
            x = x + sinusoids(t.pos, x.shape[-1]).to(x.dtype)
        hidden, n = [x], 0
        for block in self.blocks:
            states = [None] * block.mixes if cache is None else cache.states[n : n + block.mixes]
            x, states = block(x, t, states)
            if cache is not None:
                cache.states[n : n + block.mixes] = states
            n += block.mixes
            hidden.append(x)
        out = Output(
            last_hidden_state=self.norm(x),
            past_key_values=cache if use_cache else None,
            hidden_states=tuple(hidden) if output_hidden_states else None,
        )
        return out.to_tuple() if return_dict is False else out


class AttncHead(AttncPreTrainedModel):
    """The model and a head: logits (B, T, vocab_size), and a loss if there are labels.

    It takes what AttncModel.forward() takes. A label of -100 is ignored.
    """

    _tied_weights_keys = {"head.weight": "model.embed.weight"}

    def __init__(self, config: AttncConfig):
        super().__init__(config)
        self.model = AttncModel(config)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def set_output_embeddings(self, value: nn.Module):
        self.head = value

    def forward(
        self,
        input_ids: Optional[Tensor] = None,
        attention_mask: Optional[Tensor] = None,
        labels: Optional[Tensor] = None,
        logits_to_keep: int = 0,
        return_dict: Optional[bool] = None,
        **kwargs,
    ):
        out = self.model(input_ids, attention_mask, **kwargs)
        last, *rest = out.to_tuple()
        names = list(out.keys())[1:]
        logits, loss = self.head(last[:, -logits_to_keep:]), None
        if labels is not None:
            size = self.config.vocab_size
            loss = self.loss_function(logits, labels, vocab_size=size, **kwargs)
        out = self.output(loss=loss, logits=logits, **dict(zip(names, rest)))
        return out.to_tuple() if return_dict is False else out


class AttncForCausalLM(AttncHead, GenerationMixin):
    """The loss compares the logits of each token with the label of the next."""

    output = CausalLMOutputWithPast


class AttncForMaskedLM(AttncHead):
    """Token vocab_size - 1, which no text has, hides another; its label is the hidden token."""

    output = MaskedLMOutput
