# Claims C19, C20, C23, C24: a gated unit's rows divided by n, as softmax, and as softmax with the entropy-invariant
# scale, a unit without its gate, as large, and two heads of softmax, nearly as large. The rates are swept at the full
# length of the runs.
lengths = 256
seeds   = $(call full,5,1)
converging = 1
also    = experiments/analysed growth run
single  = $(call full,--n-layer 4 --n-embd $(1) --key-size 32,--n-layer 4 --n-embd 16 --key-size 8)
from    = $(call full,0.004$(comma)0.008$(comma)..,0.008)
length_of_runs = $(ten_million_tokens)
gated   = $(call series,stories,$(from),--task causal --attn gau --norm $(1) $(call single,$(or $(3),64)) \
              $(length_of_runs))
two_heads = $(call series,stories,$(from),--task causal --attn softmax --position rope $(four) $(length_of_runs))
plan    = $(two_heads) $(call gated,n) $(call gated,softmax) $(call gated,entropy --base 256) $(call gated,n --no-gate,,69)
