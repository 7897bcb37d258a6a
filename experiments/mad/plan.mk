# MAD's six tasks: two learning rates, one seed.
lengths = $(patsubst block-size+%,%,$(filter block-size+%,$(subst _, ,$*)))
tested  = --rows 1000
seeds   = 1
tried   = $(call full,0.004$(comma)0.012,0.012)
short   = compression memorization
tasks   = in-context-recall fuzzy-recall noisy-recall selective-copy $(short)
attns   = softmax elu cosformer gla deltanet gated-delta rwkv7
size    = --n-layer 2 --n-embd $(call full,64,16) --n-head 2 --ffn swiglu --conv 4
updates = $(if $(filter $(short),$(task)),4000,1000)
length  = $(if $(filter $(short),$(task)),32,$(if $(filter selective-copy,$(task)),256,128))
plan    = $(foreach task,$(tasks),$(foreach attn,$(attns),$(call series,synthetic,$(tried),--task $(task) --attn $(attn) \
              $(size) --block-size $(length) --batch-size $(call full,32,4) $(call for,$(updates)))))
