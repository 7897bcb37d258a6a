# Claims C12 and C13: do masked linear models leave their plateau in twenty million tokens?
# One seed, to see whether they converge.
lengths = $(patsubst block-size+%,%,$(filter block-size+%,$(subst _, ,$*)))
seeds   = 1
also    = experiments/analysed ranks run
guess   = $(foreach attn,softmax relu,$(foreach length,64 256,$(attn):-:$(length):0.008))
found_  = $(call screened,e2-screen,$(guess))
run     = $(call series,stories,$(call part_of,4,$(1)),--task mlm --attn $(call part_of,1,$(1)) $(2) $(two) \
              $(call subwords,43000000) $(call batch,$(call part_of,3,$(1))) $(call for,9766) $(settled))
plan    = $(foreach best,$(found_),$(call run,$(best))) \
          $(foreach best,$(filter relu:-:256:%,$(found_)),$(call run,$(best),--window 32))
