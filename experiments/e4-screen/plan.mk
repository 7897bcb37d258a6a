# Learning rates of gated units and of several heads, masked, for e4-lengths.
lengths = $(patsubst block-size+%,%,$(filter block-size+%,$(subst _, ,$*)))
seeds   = $(call full,2,1)
include experiments/e4-lengths/models.mk
first   = $(call full,0.004$(comma)0.008$(comma)..,0.008)
plan    = $(foreach norm,$(norms),$(call series,stories,$(first),$(gated) $(call batch,128) $(call learned,8800000,1000))) \
          $(foreach scale,sqrt entropy,$(call series,stories,$(first),$(heads4) $(call batch,64) $(call learned,8800000,1000)))
