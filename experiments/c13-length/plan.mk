# Claim C13: relu and softmax, trained and tested at two lengths; those of 256 are c03-perplexity's.
linear  = relu
lengths = $(patsubst block-size+%,%,$(filter block-size+%,$(subst _, ,$*)))
with    = --task $(task) --attn $(attn) $(call model,$(attn)) $(call batch,$(length)) $(muon)
plan    = $(foreach attn,softmax $(linear),$(foreach task,causal mlm,$(foreach length,64 1024, \
              $(call series,wikitext-2,c03:$(call rates,$(attn)),$(with)))))
