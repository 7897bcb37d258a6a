# Claims C15 to C18: the divisors of a gated unit's rows, trained at 64 and at mixed lengths.
lengths = 64,16,32,128,256,512,1024
at_64   = $(call batch,64)
mixed   = $(call batch,256) --lengths 16,32,64,128,256
layers  = $(call full,--n-layer 2 --n-embd 128,--n-layer 1 --n-embd 12 --key-size 8)
base    = $(if $(filter fixed entropy logn,$(norm)),--base 64)
plan    = $(foreach norm,n fixed n2 sum softmax entropy logn,$(foreach trained,at_64 mixed, \
              $(call series,wikitext-2,$(call rates,gau),--task mlm --attn gau --norm $(norm) $(base) \
                  $(layers) $($(trained)) $(muon))))
