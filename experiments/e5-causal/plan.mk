# Claims C9, C11, C25, C26, C28, C34, C35: larger keys, windows, learned features, the delta rule, a mixture of
# layers, each at the position and rate that e1-screen found for the mechanism as it is, whose runs are
# those of e1-causal. All models are of one size: larger keys take units from the feed-forward layer.
lengths = 256
seeds   = $(call full,5,1)
guess   = $(foreach attn,softmax relu performer exp,$(attn):rope:256:0.008) deltanet:none:256:0.008 \
              fastformer:sinusoidal:256:0.008
found_  = $(call screened,e1-screen,$(guess))
best    = $(call part_of,$(2),$(filter $(1):%,$(found_)))
arm     = $(call series,stories,$(call best,$(1),4),--task causal --attn $(or $(3),$(1)) $(2) --position \
              $(call best,$(1),2) $(four) $(call subwords,21500000) $(call batch,256) $(call for,4883) $(settled))
two_d   = --key-size 64 --n-inner 192
four_d  = --key-size 128 --n-inner 64
mixed   = relu:conv=4,relu:conv=4,relu:conv=4,softmax
plan    = $(if $(found_),$(call arm,softmax,$(two_d)) $(call arm,softmax,--window 32) $(call arm,relu,$(two_d)) \
              $(call arm,relu,$(four_d)) $(call arm,relu,--conv 4) $(call arm,relu,,$(mixed)) \
              $(call arm,performer,--learn-omega --n-inner 192) $(call arm,exp,$(four_d)) $(call arm,deltanet,--conv 0) \
              $(call arm,fastformer))
