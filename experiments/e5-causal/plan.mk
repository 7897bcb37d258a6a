# Claims C11, C25, C26, C28, C34, C35, and the causal half of C9: larger keys, windows, learned features, a mixture of
# layers, each at the position and rate that e1-causal found for the mechanism as it is, whose runs count here as well;
# the delta rule and Fastformer at rates of their own. All models are of one size: larger keys take units from the
# feed-forward layer.
lengths = 256
seeds   = $(call full,5,1)
comma  := ,
from    = $(call full,0.004$(comma)0.008$(comma)..,0.008)
guess   = $(foreach attn,softmax relu performer exp,$(attn):rope:256:0.008)
found_  = $(call screened,e1-causal,$(guess))
best    = $(call part_of,$(2),$(filter $(1):%,$(found_)))
run     = $(call series,stories,$(1),--task causal --attn $(2) $(two) $(call subwords,21500000) $(call batch,256) \
              $(call for,4883) $(settled))
arm     = $(call run,$(call best,$(1),4),$(or $(3),$(1)) $(2) --position $(call best,$(1),2))
two_d   = --key-size 64 --n-inner 384
four_d  = --key-size 128 --n-inner 128
mixed   = relu:conv=4,softmax
plan    = $(if $(found_),$(call arm,softmax,$(two_d)) $(call arm,softmax,--window 32) \
              $(call run,$(from),deltanet --conv 0 --position none) $(call run,$(from),fastformer --position sinusoidal) \
              $(call arm,exp,$(four_d)) $(call arm,performer,--learn-omega --n-inner 448) $(call arm,relu,,$(mixed)) \
              $(call arm,relu,--conv 4) $(call arm,relu,$(two_d)) $(call arm,relu,$(four_d)))
