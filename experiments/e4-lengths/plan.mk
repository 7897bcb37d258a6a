# Claims C15 to C18: the divisors of a gated unit's rows, trained at 128 and at mixed lengths; and C18 as its author
# ran it, several heads trained at 64. Learning rates are those of e4-screen.
lengths = 128,16,32,64,256,512,1024
tested  = --max-tokens 200000
seeds   = $(call full,10,1)
also    = experiments/e4-lengths/more run
include experiments/e4-lengths/models.mk
guess   = $(foreach norm,$(norms),gau/$(norm):-:128:0.008) $(foreach scale,sqrt entropy,softmax/$(scale):-:64:0.008)
found_  = $(call screened,e4-screen,$(guess))
at_128  = $(call batch,128)
mixed   = $(call batch,512) --lengths 32,64,128,256,512
run     = $(call series,stories,$(call part_of,4,$(filter $(1):%,$(found_))),$(2) $(call learned,43000000,9766))
plan    = $(if $(found_),$(foreach norm,n sum softmax,$(call run,gau/$(norm),$(gated) $(at_128))) \
              $(foreach norm,n,$(call run,gau/$(norm),$(gated) $(mixed))) \
              $(foreach scale,sqrt entropy,$(call run,softmax/$(scale),$(heads4) $(call batch,64))))
