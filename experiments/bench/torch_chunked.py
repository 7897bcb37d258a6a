"""Recurrent mechanisms in PyTorch, in the form that is fastest there: chunks of c positions, inside
which all pairs are products of matrices, and between which a state S (D, E) goes on.

    S_t = a_t S_{t-1} + k_t v_t^T                            decayed(), with g = ln a_t
    S_t = a_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T      delta()

and o_t = S_t^T q_t. All take q, k, v (B, T, H, D or E) and beta (B, T, H). g is a number of a head
(B, T, H), or of each feature (B, T, H, D); decayed() also takes rates that never change, as (H).
Features decay by factors apart, e^b and e^-b with b the running sum of g in the chunk, which is faster
than any way that is safe against overflow: with 64 positions, a step must decay by less than e^1.3.
"""
import math

import torch

__all__ = ["decayed", "delta"]


def in_chunks(x, c):
    """(B, T, H, ...) as (B, H, T / c, c, ...)."""
    return x.unflatten(1, (-1, c)).movedim(3, 1)


class Decay:
    """What a chunk needs of the rates: `pairs` are the decayed products a_t.b_s of each t and s <= t."""

    def __init__(self, g, c):
        if g is None:
            self.rate = None
        elif g.dim() == 1:
            self.rate = (torch.arange(1, c + 1) * g[:, None])[None, :, None]
        else:
            self.rate = in_chunks(g, c).cumsum(3)
        self.each = self.rate is not None and self.rate.dim() == 5
        if self.rate is not None and not self.each:
            late = torch.ones(c, c, dtype=torch.bool).triu_(1)
            between = self.rate[..., :, None] - self.rate[..., None, :]
            self.between = between.masked_fill(late, -math.inf).exp()
            self.rate = self.rate[..., None]

    def since_start(self, x):
        return x if self.rate is None else x * self.rate.exp()

    def to_end(self, x):
        return x if self.rate is None else x * (self.rate[..., -1:, :] - self.rate).exp()

    def pairs(self, a, b):
        if self.each:
            return self.since_start(a) @ (b * (-self.rate).exp()).mT
        return a @ b.mT if self.rate is None else (a @ b.mT) * self.between

    def of_state(self, i):
        """The factor of the state over chunk i, for its rows."""
        if self.rate is None:
            return 1.0
        return self.rate[:, :, min(i, self.rate.shape[2] - 1), -1].exp()[..., None]


def joined(chunks):
    """Chunks (B, H, c, E) as (B, T, H, E)."""
    return torch.cat(chunks, 2).transpose(1, 2)


def decayed(q, k, v, g, c):
    c = math.gcd(c, q.shape[1])
    q, k, v = (in_chunks(x, c) for x in (q, k, v))
    decay = Decay(g, c)
    o = decay.pairs(q, k).tril() @ v
    added = decay.to_end(k).mT @ v
    q, state, chunks = decay.since_start(q), added[:, :, 0], [o[:, :, 0]]
    for i in range(1, o.shape[2]):
        chunks.append(torch.baddbmm(o[:, :, i].flatten(0, 1), q[:, :, i].flatten(0, 1),
                                    state.flatten(0, 1)).unflatten(0, o.shape[:2]))
        state = decay.of_state(i) * state + added[:, :, i]
    return joined(chunks)


def delta(q, k, v, beta, g, c):
    """u_t = beta_t (v_t - a_t S_{t-1}^T k_t) solves a triangular system in each chunk."""
    c, E = math.gcd(c, q.shape[1]), v.shape[-1]
    q, k, v, beta = (in_chunks(x, c) for x in (q, k, v, beta[..., None]))
    decay = Decay(g, c)
    against = torch.cat((beta * v, beta * decay.since_start(k)), -1)
    solved = torch.linalg.solve_triangular(beta * decay.pairs(k, k).tril(-1), against,
                                           upper=False, unitriangular=True)
    pairs, q, k = decay.pairs(q, k).tril(), decay.since_start(q), decay.to_end(k).mT
    state, chunks = 0.0, []
    for i in range(q.shape[2]):
        u = solved[:, :, i, :, :E]
        if i:
            u = u - solved[:, :, i, :, E:] @ state
        o = pairs[:, :, i] @ u
        chunks.append(o + q[:, :, i] @ state if i else o)
        state = decay.of_state(i) * state + k[:, :, i] @ u
    return joined(chunks)
