# Learning rates of masked models, for e2-masked.
lengths = $(patsubst block-size+%,%,$(filter block-size+%,$(subst _, ,$*)))
seeds   = $(call full,2,1)
plan    = $(foreach attn,softmax relu,$(foreach length,64 256,$(call series,stories,$(swept), \
              --task mlm --attn $(attn) $(two) $(call subwords,8800000) $(call batch,$(length)) $(call for,1000))))
