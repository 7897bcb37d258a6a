# How far every mechanism is from the true entropy of the built-in stories.
lengths = 256,64,16
layers  = $(subst --n-layer 4,--n-layer 2,$(call model,$(attn)))
plan    = $(foreach attn,$(call those_of,causal),$(call series,stories,c03:$(call rates,$(attn)), \
              --task causal --attn $(attn) $(layers) $(call batch,256) $(muon)))
