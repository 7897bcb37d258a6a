# Claim C3: every mechanism on WikiText-2, causal and masked, and some on a book.
lengths = 256,64,16
with    = --task $(task) --attn $(attn) $(call model,$(attn)) $(call batch,256) $(muon)
plan    = $(foreach task,causal mlm,$(foreach attn,$(call those_of,$(task)), \
              $(call series,wikitext-2,$(call rates,$(attn)),$(with)))) \
          $(foreach task,causal,$(foreach attn,softmax relu elu cosformer, \
              $(call series,war-and-peace,0.008,$(with))))
