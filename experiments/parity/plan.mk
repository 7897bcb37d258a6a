# Is the number of ones so far odd? Trained on 40 positions, tested on up to 256: the delta rule, and the twelve
# mechanisms of the first version.
lengths = 40,64,128,256
with    = --n-layer 2 --n-embd $(call full,64,16) --block-size 40 --batch-size $(call full,64,4) --max-iters $(call full,800,3)
first   = softmax relu leaky identity elu exp cosformer performer gau flash-gau \
          efficient_position+sinusoidal fastformer_position+sinusoidal
plan    = $(foreach attn,deltanet_negative deltanet $(first),$(call series,synthetic,0.008, \
              --task cumulative-parity --attn $(subst +, ,$(subst _, --,$(attn))) $(with) --optimizer muon))
