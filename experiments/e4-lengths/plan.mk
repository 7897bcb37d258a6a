# Claims C15 to C18: the divisors of a gated unit's rows, trained at 128 and at mixed lengths; and C18 as its author
# ran it, several heads trained at 64.
lengths = 128,16,32,64,256,512,1024
seeds   = $(call full,10,1)
also    = experiments/e4-lengths/more run
at_128  = $(call batch,128)
mixed   = $(call batch,512) --lengths 32,64,128,256,512
layers  = $(call full,--n-layer 2 --n-embd 128,--n-layer 1 --n-embd 12 --key-size 8)
base    = $(if $(filter fixed entropy logn,$(norm)),--base 128)
gated   = $(call series,wikitext-2,$(call unit_rates,gau),--task mlm --attn gau $(1) $(muon))
unit_rates = $(call full,0.002$(comma)..,0.008)
comma  := ,
heads4  = $(call full,--n-layer 4 --n-embd 128 --n-head 4,--n-layer 1 --n-embd 16 --n-head 2)
plan    = $(foreach norm,n fixed n2 sum softmax entropy logn,$(call gated,--norm $(norm) $(base) $(layers) $(at_128))) \
          $(foreach norm,n sum softmax logn,$(call gated,--norm $(norm) $(base) $(layers) $(mixed))) \
          $(foreach scale,sqrt entropy,$(call series,wikitext-2,$(call full,$(onward),0.008),--task mlm --attn softmax \
              --scale $(scale) --base 512 $(heads4) $(call batch,64) $(muon)))
