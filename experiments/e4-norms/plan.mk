# Claim C15: a gated unit with relu^2 / n, trained at 128 with half as many tokens again as in e4-lengths, whose runs
# have not converged.
include experiments/e4-lengths/plan.mk
seeds      = $(call full,10,1)
converging = 1
run        = $(call series,stories,$(first),$(1) $(call subwords,32250000) $(call for,7324) $(settled))
plan       = $(foreach norm,n,$(call run,$(gated) $(at_128)))
