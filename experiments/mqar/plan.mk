# MQAR over the width of the model, and so over the size of the state: two rates, one seed.
lengths = $(patsubst block-size+%,%,$(filter block-size+%,$(subst _, ,$*)))
tested  = --rows 2000
seeds   = 1
tried   = $(call full,0.008$(comma)0.02,0.008)
widths  = $(call full,16 32 64,16)
spans   = $(call full,64 128,64)
gated   = gla gated-delta mamba2
asked   = softmax relu elu cosformer based $(gated:%=%_--no-out-gate) deltanet rwkv7
pairs   = --items $(shell expr $(1) / 16) --block-size $(1) --batch-size $(shell expr $(call full,4096,256) / $(1))
plan    = $(foreach width,$(widths),$(foreach span,$(spans),$(foreach attn,$(asked), \
              $(call series,synthetic,$(tried),--task mqar --attn $(subst _, ,$(attn)) --symbols $(call full,8192,64) \
                  $(call pairs,$(span)) --conv 3 --ffn none --n-layer 2 --n-embd $(width) --n-head 1 $(call for,2000)))))
