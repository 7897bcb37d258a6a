# Claims C27 and C30: models of 12 layers as they are drawn; one update at a rate of 1e-9 changes nothing.
lengths = 128
seeds   = $(call full,10,1)
also    = experiments/c27-c30-untrained/shapes run
drawn   = --n-layer $(call full,12,2) --n-embd 64 --n-head 2 --block-size 128 --batch-size 1 --max-iters 1 --story-bytes 100000
without = no-residual no-ffn no-residual_--no-ffn
models  = $(foreach attn,softmax relu,mlm_--attn_$(attn) $(without:%=mlm_--attn_$(attn)_--%)) \
          mlm_--attn_relu_--window_16 causal_--attn_relu causal_--attn_softmax_--no-residual_--no-ffn
plan    = $(foreach position,sinusoidal rope,$(foreach of,$(models),$(call series,stories,1e-09,\
              --task $(subst _, ,$(of)) $(filter-out rope,$(position:sinusoidal=--position sinusoidal)) $(drawn))))
