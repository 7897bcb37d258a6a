# Recall of keys and values in the size of Zoology: four learning rates, one seed.
lengths = 64
seeds   = 1
swept   = $(call full,0.003 0.006 0.012 0.024,0.012)
with    = --n-layer 2 --n-embd $(call full,64,16) --n-head 1 --block-size 64 --batch-size $(call full,64,4)
updates = --max-iters $(call full,$(1),3)
gated   = gla gated-delta mamba2
asked   = softmax relu cosformer based deltanet $(gated) $(gated:%=%_no-out-gate)
plan    = $(foreach attn,$(asked),$(call series,synthetic,$(subst $(space),$(comma),$(swept)), \
              --task mqar --attn $(subst _, --,$(attn)) --conv 4 --symbols $(call full,8192,64) --items 4 $(with) $(call updates,2000) --optimizer muon))
plan   += $(foreach attn,gated-delta mamba2,$(call series,synthetic,$(subst $(space),$(comma),$(swept)), \
              --task mqar --attn $(attn) --layer-norm layer --conv 4 --symbols $(call full,8192,64) --items 4 \
              $(with) $(call updates,4000) --optimizer muon))
