# Claims C1, C4 and C9: masked, without RoPE, as in the source. With one seed: no run has converged.
lengths = 128
seeds   = 1
from    = $(call full,0.004$(comma)0.008,0.008)
plan    = $(foreach attn,softmax relu leaky identity elu cosformer performer fastformer,$(call series,stories,$(from), \
              --task mlm --mask-share 0.3 --attn $(attn) --position sinusoidal $(two) $(call subwords,21500000) \
              $(call batch,128) $(call for,4883) $(settled)))
