# Claims C1, C4 and C9: masked, without RoPE, as in the source. The rates are swept at the full length of the runs.
lengths = 128
seeds   = $(call full,5,1)
from    = $(call full,0.004$(comma)0.008$(comma)..,0.008)
plan    = $(foreach attn,softmax relu leaky identity elu cosformer performer fastformer,$(call series,stories,$(from), \
              --task mlm --mask-share 0.3 --attn $(attn) --position sinusoidal $(two) $(call subwords,21500000) \
              $(call batch,128) $(call for,4883) $(settled)))
