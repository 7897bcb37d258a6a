# Claim C18 as its author ran it: softmax with several heads, trained at 64, tested up to 1,024. More seeds would not
# help: with twenty million tokens the models with the entropy-invariant scale have not converged.
lengths = 64,16,32,128,256,512,1024
tested  = --max-tokens 200000
seeds   = $(call full,2,1)
heads4  = --task mlm --mask-share 0.3 --attn softmax --scale $(scale) --base 512 \
          $(call full,--n-layer 4 --n-embd 64 --n-head 4,--n-layer 1 --n-embd 16 --n-head 2)
first   = $(call full,0.004$(comma)0.008$(comma)..,0.008)
plan    = $(foreach scale,sqrt entropy,$(call series,stories,$(first),$(heads4) $(call batch,64) \
              $(call subwords,43000000) $(call for,9766) $(settled)))
