"""The models of attn.c for Hugging Face's transformers, in plain torch.

A transformer with pre-norm blocks, whose attention is a mechanism of mechanisms_attnc.py:

    x = embedding(tokens)
    x = x + attention(norm(x))      for each block, which may have a mechanism of its own;
    x = x + ffn(norm(x))            or two gated units instead of these two lines
    logits = norm(x) head^T

Letters: B sequences of T tokens; H heads; q and k have D numbers per head, v has E; K positions of
a convolution.
"""

from dataclasses import fields
from typing import Callable, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import Cache, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPast as Output
from transformers.modeling_outputs import CausalLMOutputWithPast, MaskedLMOutput

from .configuration_attnc import AttncConfig
from .mechanisms_attnc import MIXES, Projection, Tokens, precise, sinusoids, unit

# The name of the cache in arguments and outputs: recent versions of transformers have shortened it.
CACHE = "cache" if "cache" in {f.name for f in fields(Output)} else "past_key_values"


# ------------------------------------------------------------------------------------- layers


class Weights(nn.Module):
    """A parameter of a mechanism. In a new model it is what `draw` returns, or normal numbers."""

    def __init__(self, *shape: int, std: Optional[float] = None, draw: Optional[Callable] = None):
        super().__init__()
        self.std, self.draw = shape[-1] ** -0.5 if std is None else std, draw
        self.weight = nn.Parameter(torch.zeros(shape))


class Fixed(nn.Module):
    """Random directions that are not trained, though from_pretrained() trains all parameters."""

    def __init__(self, *shape: int):
        super().__init__()
        self.register_buffer("weight", torch.zeros(shape))


class Gain(nn.Module):
    """What multiplies the result of a norm, or values: numbers that start at 1."""

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
    y = precise(x)
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


class Projected(nn.Module):
    """x = W h + b for each head: (B, H, T), or (B, H, T, D). A is for the mechanism."""

    def __init__(self, width: int, H: int, D: int, rule: Projection):
        super().__init__()
        n, inputs = H * D if rule.each else H, rule.rank or width
        self.H, self.D = H, D if rule.each else 0
        if rule.rank:
            self.w1 = Weights(rule.rank, width, std=(3 * width) ** -0.5)
        setattr(self, "w2" if rule.rank else "w", Weights(n, inputs, std=(3 * inputs) ** -0.5))
        self.b = Weights(n, std=0.0, draw=rule.draw)
        self.A = Weights(n, std=0.0, draw=rule.draw_rate) if rule.rate else None

    def rate(self) -> Tensor:
        return self.A.weight.view(self.H, self.D) if self.D else self.A.weight

    def forward(self, h: Tensor) -> Tensor:
        ranked = hasattr(self, "w1")
        h = h @ self.w1.weight.T if ranked else h
        x = h @ (self.w2 if ranked else self.w).weight.T + self.b.weight
        return split(x, self.H) if self.D else x.transpose(1, 2)


class Layer(nn.Module):
    """What the layers around a mix have in common: parameters of the mechanism, and

        x <- silu(conv(x))               conv K, of q, k and v; silu with conv_silu
        q, k <- q / |q|, k / |k|         qk_norm l2, in each head
        q, k <- norm(q), norm(k)         qk_norm rms, with gains that all heads share
    """

    def __init__(self, config: AttncConfig, place: int):
        super().__init__()
        self.config, self.residual, self.H = config, not config.no_residual, config.n_head
        self.mix, self.norm = MIXES[config.attn](config, place), Norm(config)

    def surround(self, D: int, **columns: int):
        """Creates this, with the columns of each convolution."""
        config, self.own, self.of_h = self.config, self.mix.own(self.H, D), self.mix.projections()
        for name, shape in self.own.items():
            fixed = name == "omega" and not config.learn_omega
            std = 1.0 if name == "omega" else None
            setattr(self, name, Fixed(*shape) if fixed else Weights(*shape, std=std))
        for name, rule in self.of_h.items():
            setattr(self, name, Projected(config.n_embd, self.H, D, rule))
        for name, n in columns.items() if config.conv else ():
            std = (3 * config.conv) ** -0.5
            setattr(self, "conv_" + name, Weights(config.conv * n, std=std))
        if config.qk_norm == "rms":
            self.q_norm, self.k_norm = Gain(D), Gain(D)

    def filtered(self, x: Tensor, name: str, t: Tokens, tails: dict) -> Tensor:
        """conv(x), from and to the last tokens before and after x, in tails."""
        if not self.config.conv:
            return x
        w = getattr(self, "conv_" + name).weight.view(self.config.conv, -1)
        x, tails[name] = convolve(x, w, t, tails.get(name), self.mix.causal)
        return x

    def ready(self, x: Tensor, name: str, t: Tokens, tails: dict) -> Tensor:
        x = self.filtered(x, name, t, tails)
        return F.silu(x) if self.config.conv and self.config.conv_silu else x

    def run(self, h: Tensor, rows: list, t: Tokens, inner: Optional[tuple]):
        """The mix of q, k, v, ..., and its state."""
        if self.mix.silu and not (self.config.conv and self.config.conv_silu):
            rows[:2] = F.silu(rows[0]), F.silu(rows[1])
        if self.config.qk_norm == "l2":
            rows[:2] = unit(rows[0]), unit(rows[1])
        if self.config.qk_norm == "rms":
            rows[0] = root_mean_square_norm(rows[0]) * self.q_norm.weight
            rows[1] = root_mean_square_norm(rows[1]) * self.k_norm.weight
        own = {name: getattr(self, name).weight for name in self.own}
        of_h = {name: getattr(self, name)(h) for name in self.of_h}
        for name, rule in self.of_h.items():
            if rule.rate:
                own["A"] = getattr(self, name).rate()
        return self.mix(rows, t, inner, of_h, own)


def convolve(x: Tensor, w: Tensor, t: Tokens, tail: Optional[Tensor], causal: bool):
    """y_t = sum over j of w_j * x_(t+a-j), for x (B, T, C) and w (K, C); a = 0, or (K - 1) / 2.

    x is 0 before the first token and after the last. Padding is left out: tokens are moved
    together, and back again. The tail is the last K - 1 tokens.
    """
    K, (B, T, C) = w.shape[0], x.shape
    to = (~t.real).long().argsort(dim=1, stable=True)  # real tokens first
    to = to[..., None].expand(-1, -1, C)
    x = (x * t.real[..., None]).gather(1, to)
    ahead = 0 if causal else (K - 1) // 2
    before = x.new_zeros(B, K - 1 - ahead, C) if tail is None else tail
    x = torch.cat((before, x, x.new_zeros(B, ahead, C)), 1)
    y = sum(w[j] * x[:, K - 1 - j : K - 1 - j + T] for j in range(K))
    y = torch.zeros_like(y).scatter(1, to, y) * t.real[..., None]
    last = t.real.sum(1)[:, None, None] + torch.arange(K - 1, device=x.device)[None, :, None]
    return y, x.gather(1, last.expand(-1, -1, C)) if causal else None


class Heads(Layer):
    """x + (silu(h W_g^T) * norm(mix(q, k, v))) W_o^T; q, k, v = h W^T, h = norm(x)

    with the gate if out_gate, and the norm, of each head, if out_norm is rms; if it is all, that of
    all heads together, of the product with the gate, times a gain. With n_kv_head, the heads of a
    group have the same k and v; with share_keys, all heads have the same q and the same k; with skip,
    v times a number of the head is added to mix(q, k, v).
    """

    def __init__(self, config: AttncConfig, place: int):
        super().__init__(config, place)
        width, H, bias, inputs = config.n_embd, self.H, bool(config.bias), self.mix.inputs()
        D = config.key_size or width // H
        shared = config.n_kv_head or H
        self.heads = {"q": H, "k": shared, "v": shared}
        if config.share_keys:
            self.heads["q"] = self.heads["k"] = 1
        columns = {name: n * (width // H if name == "v" else D) for name, n in self.heads.items()}
        self.wq = nn.Linear(width, columns["q"], bias=bias) if "q" in inputs else None
        self.wk = nn.Linear(width, columns["k"], bias=bias) if "k" in inputs else None
        self.wv = nn.Linear(width, columns["v"], bias=bias)
        self.wo = nn.Linear(width, width, bias=bias)
        self.wg = nn.Linear(width, width, bias=bias) if config.out_gate else None
        self.out_norm = Gain(width) if config.out_norm == "all" else None
        self.skip = Gain(H) if config.skip else None
        self.surround(D, **columns)

    def input(self, x: Tensor, name: str, t: Tokens, tails: dict) -> Tensor:
        n = self.heads[name]
        return split(self.ready(x, name, t, tails), n).repeat_interleave(self.H // n, dim=1)

    def forward(self, x: Tensor, t: Tokens, state: Optional[tuple]):
        h = self.norm(x)
        inner, tails = state or (None, {})
        tails = dict(tails)
        v = self.input(self.wv(h), "v", t, tails)
        q = v if self.wq is None else self.input(self.wq(h), "q", t, tails)
        k = q if self.wk is None else self.input(self.wk(h), "k", t, tails)
        o, inner = self.run(h, [q, k, v], t, inner)
        o = o if self.skip is None else o + self.skip.weight[:, None, None] * v
        o = join(root_mean_square_norm(o) if self.config.out_norm == "rms" else o)
        o = o if self.wg is None else F.silu(self.wg(h)) * o
        o = o if self.out_norm is None else root_mean_square_norm(o) * self.out_norm.weight
        return onto(self, x, self.wo(o)), (inner, tails)


class Pooled(Layer):
    """x + mix(q, k, v) W_o^T + q; q, k, v = h W^T, h = norm(x)

    with weights that may be shared: W_q and W_v (share_qv), those of all blocks (share_layers) but
    the norm, the pooling vectors of all heads (share_pools), all of a head but W_o (share_heads).
    """

    def __init__(self, config: AttncConfig, place: int, first: Optional["Pooled"]):
        super().__init__(config, place)
        width, H, bias = config.n_embd, self.H, bool(config.bias)
        self.of = [first if first and config.share_layers else self]  # a list, so as not to own it
        if self.of[0] is not self:
            return
        self.same = H if config.share_heads else 1  # heads with the same rows of weights
        self.wq = nn.Linear(width, width // self.same, bias=bias)
        self.wk = nn.Linear(width, width // self.same, bias=bias)
        self.wv = None if config.share_qv else nn.Linear(width, width // self.same, bias=bias)
        self.wo = nn.Linear(width, width, bias=bias)
        self.surround(width // H, q=width, k=width, v=width)

    def forward(self, x: Tensor, t: Tokens, state: Optional[tuple]):
        h, of = self.norm(x), self.of[0]
        inner, tails = state or (None, {})
        tails = dict(tails)
        q, k = of.wq(h).repeat(1, 1, of.same), of.wk(h).repeat(1, 1, of.same)
        v = q if of.wv is None else of.wv(h).repeat(1, 1, of.same)
        rows = [of.ready(x, name, t, tails) for name, x in (("q", q), ("k", k), ("v", v))]
        o, inner = of.run(h, [split(x, self.H) for x in rows], t, inner)
        return onto(self, x, of.wo(join(o)) + rows[0]), (inner, tails)


class Gated(Layer):
    """x + (u * mix(q, k, v)) W_o^T; u, v, z = silu(h W^T), h = norm(x), q = gamma_q z + beta_q, ...

    with u and v twice as wide as x, split into heads like q and k, whose heads are key_size wide.
    Without the gate, u is 1. Convolutions are of v and z, before silu.
    """

    def __init__(self, config: AttncConfig, place: int):
        super().__init__(config, place)
        width, H, bias = config.n_embd, self.H, bool(config.bias)
        D = H * (config.key_size or max(64 // H * 2, 2))
        self.wu = nn.Linear(width, 2 * width, bias=bias) if config.gate else None
        self.wv = nn.Linear(width, 2 * width, bias=bias)
        self.wz = nn.Linear(width, D, bias=bias)
        self.wo = nn.Linear(2 * width, width, bias=bias)
        for name in self.mix.of_z:
            setattr(self, "gamma_" + name, Weights(D, std=3.0))
            setattr(self, "beta_" + name, Weights(D, std=0.0))
        self.surround(D // H, z=D, v=2 * width)

    def of_z(self, z: Tensor, name: str) -> Tensor:
        return getattr(self, "gamma_" + name).weight * z + getattr(self, "beta_" + name).weight

    def forward(self, x: Tensor, t: Tokens, state: Optional[tuple]):
        h = self.norm(x)
        inner, tails = state or (None, {})
        tails = dict(tails)
        z = F.silu(self.filtered(self.wz(h), "z", t, tails))
        v = F.silu(self.filtered(self.wv(h), "v", t, tails))
        rows = [split(self.of_z(z, name), self.H) for name in self.mix.of_z]
        o, inner = self.run(h, [*rows[:2], split(v, self.H), *rows[2:]], t, inner)
        o = join(o) if self.wu is None else F.silu(self.wu(h)) * join(o)
        return onto(self, x, self.wo(o)), (inner, tails)


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
    """A mechanism, and a feed-forward layer; or two gated units."""

    def __init__(self, config: AttncConfig, place: int, first: Optional["Block"]):
        super().__init__()
        layer = MIXES[config.attn].layer
        if layer == "gated":
            self.first, self.second = Gated(config, place), Gated(config, place)
            self.mixes, self.ffn = 2, None
            return
        shared = first and first.attn
        self.attn = Heads(config, place) if layer == "heads" else Pooled(config, place, shared)
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
    if isinstance(state, dict):
        return {name: each(f, x) for name, x in state.items()}
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
        elif isinstance(module, Weights) and module.draw is not None:
            with torch.no_grad():
                module.weight.copy_(module.draw(module.weight))
        elif isinstance(module, Weights):
            nn.init.normal_(module.weight, std=module.std)
        elif isinstance(module, Fixed):
            nn.init.normal_(module.weight)


class AttncModel(AttncPreTrainedModel):
    """The blocks and the last norm."""

    def __init__(self, config: AttncConfig):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.n_embd)
        learned = config.position == "learned"
        self.position = nn.Embedding(config.block_size, config.n_embd) if learned else None
        self.blocks, first = nn.ModuleList(), {}  # the first block of each mechanism of a list
        for place in range(config.n_layer):
            i, its = config.of_block(place)
            if its.attn not in MIXES:
                raise ValueError(f"attn.c: no attention is called {its.attn}")
            self.blocks.append(Block(its, place, first.get(i)))
            first.setdefault(i, self.blocks[place])
        layers = [m for m in self.blocks.modules() if isinstance(m, Layer)]
        self.ends = learned or any(layer.mix.placed for layer in layers)
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

    def check_positions(self, t: Tokens, given: Optional[Tensor]):
        if given is not None and bool(((given.to(t.pos.device) != t.pos) & t.real).any()):
            raise ValueError("attn.c: position_ids: a row is one text, whose positions count its tokens")

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
        given = kwargs.get("cache") if past_key_values is None else past_key_values
        cache = given if isinstance(given, AttncCache) else None
        if use_cache and self.config.task == "causal" and cache is None:
            cache = AttncCache(sum(block.mixes for block in self.blocks))
        t = self.tokens_of(x, attention_mask, cache)
        self.check_positions(t, kwargs.get("position_ids"))
        if self.ends and int(t.pos.max()) >= self.config.block_size:
            raise ValueError(f"attn.c: there are {self.config.block_size} learned positions")
        if self.position is not None:
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
            hidden_states=tuple(hidden) if output_hidden_states else None,
            **{CACHE: cache if use_cache else None},
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
