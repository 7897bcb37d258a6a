# What each option that may lower the loss is worth, alone, on top of Muon; and AdamW with its best rate.
seeds   = $(call full,5,1)
with    = --task causal --attn softmax --tokenizer char --n-layer $(call full,4,1) --n-head $(call full,4,2) \
          --n-embd $(call full,128,16) --block-size 64 --batch-size 12 --max-iters $(call full,500,3)
alone   = cautious-decay ema+0.99 ffn+relu2 init-out+zero logit-cap+15 momentum-warmup+100 ns-steps+3 \
          qk-norm+rms shortcut shuffle conv+4 value-embedding min-lr+0 length-stages+16,32,64 batch-stages+4,8,12
rung    = $(call series,tinyshakespeare,$(swept),$(with) --optimizer $(1) $(if $(2),--$(subst +, ,$(2))))
plan    = $(call rung,adamw) $(call rung,muon) $(foreach option,$(alone),$(call rung,muon,$(option)))
