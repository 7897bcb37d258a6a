# Which positions suit which mechanism, and which learning rates: for e1-causal.
lengths = 256
plan    = $(foreach attn,softmax relu elu exp cosformer performer,$(foreach position,rope sinusoidal none, \
              $(call series,stories,$(swept),--task causal --attn $(attn) --position $(position) $(two) \
                  $(call subwords,8800000) $(call batch,256) $(call for,1000))))
