# Claim C3: mechanisms on WikiText-2, causal and masked, and some on a book.
attns   = softmax relu elu exp cosformer performer efficient identity leaky fastformer gau flash-gau
lengths = 256,64,16
with    = --task $(task) --attn $(attn) $(ladder) $(call model,$(attn)) $(call batch,256) $(muon)
ladder  = $(if $(filter cosformer,$(attn)),--rope-ladder 2d)
plan    = $(foreach task,causal mlm,$(foreach attn,$(attns), \
              $(call series,wikitext-2,$(call rates,$(attn)),$(with)))) \
          $(foreach task,causal,$(foreach attn,softmax relu elu cosformer, \
              $(call series,war-and-peace,0.008,$(with))))
