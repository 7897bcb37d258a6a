# Claims C9, C11, C25, C26, C28, C34, C35: larger keys, windows, learned features, the delta rule, a mixture of
# layers. All models have 4 layers, are 64 wide, and are of one size: larger keys take units from the feed-forward
# layer.
lengths = 256
seeds   = $(call full,5,1)
two_d   = --key-size 64 --n-inner 192
four_d  = --key-size 128 --n-inner 64
mixed   = relu:conv=4,relu:conv=4,relu:conv=4,softmax
arms    = softmax softmax_$(call word_of,$(two_d)) softmax_--window+32 \
          relu relu_$(call word_of,$(two_d)) relu_$(call word_of,$(four_d)) relu_--conv+4 $(mixed) \
          elu performer performer_--learn-omega exp_$(call word_of,$(four_d)) deltanet_--conv+0 fastformer
word_of = $(subst $(space),+,$(1))
size    = $(call full,--n-layer 4 --n-embd 64 --n-head 2,--n-layer 4 --n-embd 16 --n-head 2)
with    = $(call subwords,21500000) $(call batch,256) $(call for,2441) $(averaged)
plan    = $(foreach arm,$(arms),$(call series,stories,$(swept), \
              --task causal --attn $(subst +, ,$(subst _, ,$(arm))) --position sinusoidal $(size) $(with)))
