# Every mechanism on associative recall and on short ListOps.
columns = attn,task,parameters,accuracy,guessing,most_frequent
order   = $(append)
mqar    = --symbols 256 --items 4 --n-head 1
listops = --n-head 2
with    = --block-size 64 --n-layer 2 --n-embd 64 --batch-size 64 --optimizer muon --max-iters 1500
plan    = $(foreach task,mqar listops,$(foreach attn,$(call those_of,$(if $(filter mqar,$(task)),causal,mlm)), \
              $(call series,synthetic,,--task $(task) --attn $(attn) $(with) $($(task)) $(call one_head,$(attn)))))
