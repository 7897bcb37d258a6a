# Claims C19, C20 and C23 with half as many tokens again as in e4-causal, whose units divided by n had not converged;
# and C24, for heads of softmax. The units divided by n want smaller rates; the entropy-invariant scale is a change of
# the heads, at whose rate it is trained.
include experiments/e4-causal/plan.mk
from = $(call full,$(if $(filter n%,$(1)),0.002$(comma)0.004,0.004$(comma)0.008)$(comma)..,0.008)
length_of_runs = $(call subwords,32250000) $(call batch,256) $(call for,7324) $(settled)
invariant = $(call series,stories,$(call full,0.004,0.008),--task causal --attn softmax --scale entropy --base 256 \
                --position rope $(four) $(length_of_runs))
plan = $(call gated,n) $(call gated,n --no-gate,,69) $(call gated,softmax) $(two_heads) $(invariant)
