# Claims C14, C15 and C17: the divisors of a gated unit's rows, trained at 128. Learning rates are swept at the full
# length: the best of runs a fifth as long are up to four times as high. With 10 million tokens runs do not converge.
lengths    = 128,16,32,64,256,512,1024
tested     = --max-tokens 200000
seeds      = $(call full,10,1)
converging = 1
also       = experiments/e4-norms/more run
masked     = --task mlm --mask-share 0.3
gated      = $(masked) --attn gau --norm $(norm) \
             $(call full,--n-layer 2 --n-embd 64 --key-size 64,--n-layer 1 --n-embd 12 --key-size 8)
first      = $(call full,0.004$(comma)0.008$(comma)..,0.008)
plan       = $(foreach norm,n sum softmax,$(call series,stories,$(first),$(gated) $(call batch,128) \
                 $(call subwords,32250000) $(call for,7324) $(settled)))
