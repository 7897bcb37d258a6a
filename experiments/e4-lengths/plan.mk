# Claims C16 and C17: the divisors of a gated unit's rows, trained at 128 and, n, at mixed lengths. Learning rates are
# swept at the full length: the best of runs a fifth as long are up to four times as high. More seeds would not help:
# the runs have not converged.
lengths = 128,16,32,64,256,512,1024
tested  = --max-tokens 200000
seeds   = $(call full,2,1)
also    = experiments/e4-lengths/more run
masked  = --task mlm --mask-share 0.3
gated   = $(masked) --attn gau --norm $(norm) \
          $(call full,--n-layer 2 --n-embd 64 --key-size 64,--n-layer 1 --n-embd 12 --key-size 8)
at_128  = $(call batch,128)
mixed   = $(call batch,512) --lengths 32,64,128,256,512
first   = $(call full,0.004$(comma)0.008$(comma)..,0.008)
run     = $(call series,stories,$(first),$(1) $(call subwords,21500000) $(call for,4883) $(settled))
plan    = $(foreach norm,n sum softmax,$(call run,$(gated) $(at_128))) \
          $(foreach norm,n,$(call run,$(gated) $(mixed)))
