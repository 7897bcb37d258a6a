# The losses of the table in the project's README: AdamW, 500 steps, tinyshakespeare.
columns = attn,task,parameters,loss
order   = $(append)
with    = --n-layer 4 --n-head 4 --n-embd 128 --block-size 256 --batch-size 8 --max-iters 500
plan    = $(foreach task,causal mlm,$(foreach attn,$(call those_of,$(task)), \
              $(call series,tinyshakespeare,,--task $(task) --attn $(attn) $(with) $(call one_head,$(attn)))))
