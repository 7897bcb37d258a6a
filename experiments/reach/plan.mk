# How far every mechanism reaches: trained at 64 positions, tested at a quarter to 16 times as many. The five
# of `fixed` have learned positions, and no longer test. Mechanisms with parameters of their own have
# fewer inner units, so that all models are of one size; the largest difference is 1.3% (1.6% for the
# other tasks, in reach-recall and reach-copy).
tasks   ?= causal mlm
seeds    = 1
fixed    = linformer nystromformer synthesizer poolingformer reformer
is       = $(filter $(1),$(subst _, ,$*))
shorter  = 64,16,32
lengths  = $(if $*,$(shorter)$(if $(call is,$(fixed:%=attn+%)),,$(comma)128$(comma)256$(comma)512$(comma)1024))
tested   = $(if $(call is,task+causal task+mlm),--max-tokens $(call full,50000,1000),--rows $(call full,500,20))
units_of = hedgehog:224 based:288 retnet:224 decay:224 lightning:224 gated-delta:216 kda:200 rwkv7:144 gla:208 \
           nystromformer:240 poolingformer:240 linformer:208 synthesizer:248 reformer:280
inner    = $(call full,$(addprefix --n-inner ,$(patsubst $(attn):%,%,$(filter $(attn):%,$(units_of)))),)
conv     = $(if $(filter synthesizer reformer,$(attn)),,--conv $(if $(filter mlm,$(task)),3,4))
several  = $(call full,--n-layer 2 --n-embd 64 --n-head 2,--n-layer 1 --n-embd 16 --n-head 2) $(inner) \
           $(if $(filter linformer,$(attn)),--rank 16) $(if $(filter efficient fastformer,$(attn)),--position sinusoidal)
single   = $(call full,--n-layer 2 --n-embd 60 --n-head 1 --key-size 48,--n-layer 1 --n-embd 12 --n-head 1 --key-size 8)
layers   = $(if $(call unit,$(attn)),$(single),$(several)) $(conv)
rows     = $(call batch,64) $(call for,800)
mqar     = --symbols 64 --items 4
copy     = --symbols 64 --lengths 16$(comma)32$(comma)64
asked    = $(call full,$(call those_of,$(if $(filter mlm,$(task)),mlm,causal)),softmax relu gau synthesizer)
text_of  = $(if $(filter causal mlm,$(task)),stories,synthetic)
stories  = $(if $(filter stories,$(text_of)),--story-bytes $(call full,2000000,20000))
rate_of  = $(if $(call unit,$(attn)),0.004,0.008)
plan     = $(foreach task,$(tasks),$(foreach attn,$(asked), \
               $(call series,$(text_of),$(rate_of),--task $(task) $(stories) --attn $(attn) $(layers) $(rows) $($(task)))))
