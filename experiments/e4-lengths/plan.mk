# Claim C16: a gated unit divided by n, trained at 128 and at mixed lengths. More seeds would not help: the runs have
# not converged.
include experiments/e4-norms/plan.mk
seeds      = $(call full,2,1)
converging =
also       =
norm       = n
mixed      = $(call batch,512) --lengths 32,64,128,256,512
run        = $(call series,stories,$(first),$(gated) $(1) $(call subwords,21500000) $(call for,4883) $(settled))
plan       = $(call run,$(call batch,128)) $(call run,$(mixed))
