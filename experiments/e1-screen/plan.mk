# Which positions suit which mechanism, and which learning rates: for e1-causal.
lengths  = 256
screen   = $(call series,stories,$(swept),--task causal --attn $(1) --position $(2) $(four) \
               $(call subwords,8800000) $(call batch,256) $(call for,1000) $(settled))
plan     = $(foreach attn,softmax relu elu exp cosformer performer,$(foreach position,rope sinusoidal none, \
               $(call screen,$(attn),$(position)))) \
           $(call screen,deltanet --conv 0,none) $(call screen,fastformer,sinusoidal)
