# Claim C5: who learns ListOps?
lengths = 64
tested  = --rows 2000
seeds   = $(call full,5,1)
with    = $(call full,--n-layer 2 --n-embd 64,--n-layer 1 --n-embd 16) --n-head 2 --block-size 64 \
          --batch-size $(call full,32,4) --eval-iters 100
plan    = $(foreach attn,softmax cosformer elu performer,$(call series,synthetic,$(swept), \
              --task listops --attn $(attn) --position sinusoidal $(with) $(call for,4000) $(settled)))
