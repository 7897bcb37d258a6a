"""The configuration of a model of attn.c: the options of ./train, under their names."""

import copy

from transformers import PretrainedConfig

MODEL = {
    "vocab_size": 256,
    "n_layer": 4,
    "n_head": 4,
    "n_kv_head": 0,  # heads of k and v; 0: as many as heads
    "n_embd": 128,
    "block_size": 256,  # the context of the training
    "attn": "softmax",
    "position": "rope",  # rope, learned, sinusoidal or none
    "ffn": "gelu",  # or swiglu, none
    "layer_norm": "rms",  # or layer
    "task": "causal",  # or mlm, classify
    "bias": 0,  # in the dense layers
    "no_residual": 0,  # layers do not add their input to their output
    "classes": 0,  # of task classify
    "n_inner": 0,  # the width of the feed-forward layer; 0: derived from n_embd
    "rope_base": 0,  # 0: 10000
    "norm_eps": "1e-5",
    "mechanisms": [],  # which blocks have in turn: of each, attn and its settings; []: attn alone
}
# Of the mechanisms; `./train --help` describes them. A size of 0 is the default that it names.
SETTINGS = {
    "scale": "sqrt",
    "weight": "softmax",
    "base": 0,
    "window": 0,
    "key_size": 0,
    "out_norm": "none",
    "out_gate": 0,
    "conv": 0,
    "conv_silu": 1,
    "qk_norm": "none",  # or l2, rms
    "reach": 0,
    "global": 1,
    "random": 3,
    "block": 0,
    "rope_at": "after",  # the feature map, or before
    "rope_ladder": "d",
    "horizon": 0,
    "features": 0,
    "kernel": "softmax",  # or relu
    "learn_omega": 0,
    "redraw": 0,  # only ./train does it
    "gated": 0,
    "decay": 0,
    "slopes": "linear",  # or alibi
    "share_keys": 0,
    "skip": 0,
    "negative": 0,
    "interaction": "mul",
    "products": "both",
    "share_qv": 0,
    "share_layers": 0,
    "share_pools": 0,
    "share_heads": 0,
    "norm": "n",
    "rel_bias": "none",
    "gate": 1,
    "chunk": 0,
    "rank": 0,
    "landmarks": 0,
    "kind": "dense",  # or random
    "near": 0,
    "far": 0,
    "pool_size": 0,
    "pool_stride": 0,
    "buckets": 0,
    "rounds": 0,
}


class AttncConfig(PretrainedConfig):
    model_type = "attnc"
    keys_to_ignore_at_inference = ["cache", "past_key_values"]
    attribute_map = {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
    }

    def __init__(self, use_cache: bool = True, tie_word_embeddings: bool = False, **kwargs):
        for name, default in {**MODEL, **SETTINGS}.items():
            setattr(self, name, kwargs.pop(name, default))
        self.use_cache = use_cache
        super().__init__(tie_word_embeddings=tie_word_embeddings, **kwargs)

    def of_block(self, place: int) -> tuple:
        """Which of the mechanisms a block has, and the configuration with its settings."""
        if not self.mechanisms:
            return 0, self
        its = self.mechanisms[place % len(self.mechanisms)]
        config = copy.copy(self)
        for name, value in {**SETTINGS, **its}.items():
            setattr(config, name, value)
        return self.mechanisms.index(its), config
