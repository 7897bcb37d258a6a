# Claims C11 and C35: larger keys, a mixture of layers, each at the position and rates that e1-causal found for relu as
# it is, whose runs count here as well. All models are of one size: larger keys take units from the feed-forward layer.
lengths = 256
seeds   = $(call full,5,1)
converging = 1
plan    = $(call changed,relu,,relu:conv=4$(comma)softmax) $(call changed,relu,--conv 4) $(call changed,relu,$(two_d)) \
              $(call changed,relu,$(four_d))
