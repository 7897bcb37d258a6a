# Claims C7 and C8: Fastformer's interactions, and the weights it shares, as a classifier of texts. With 4,000
# updates and five seeds a run had not converged, and the statement on heads would have taken seven seeds. The sweep
# begins at 0.001 since with --share qv runs at 0.002, at 0.004 and at 0.008 had not converged.
lengths = 32
tested  = --rows 10000
seeds   = $(call full,7,1)
converging = 1
with    = $(call full,--n-layer 2 --n-embd 32 --n-head 4,--n-layer 2 --n-embd 16 --n-head 2) \
          --block-size 32 --batch-size $(call full,64,4) --eval-iters 0
shared  = $(subst $(space),$(comma),$(1))
rates   = $(call full,0.001$(comma)0.002$(comma)0.004$(comma)0.008$(comma)..,0.008)
ours    = $(call series,books,$(rates),--task classify --attn fastformer --position sinusoidal $(1) $(with) \
              $(call for,8000) $(settled))
plan    = $(call ours,) $(call ours,--share qv) $(call ours,--share $(call shared,qv heads)) \
          $(foreach by,mul add concat,$(call ours,--share $(call shared,qv layers) --interaction $(by)))
