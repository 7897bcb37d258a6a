# Claim C34, and the causal half of C9: the delta rule and Fastformer, at rates of their own, beside the runs of
# e1-causal.
lengths = 256
seeds   = $(call full,5,1)
from    = $(call full,0.004$(comma)0.008$(comma)..,0.008)
plan    = $(call ten_million,$(from),deltanet --conv 0 --position none) \
              $(call ten_million,$(from),fastformer --position sinusoidal)
