# Claims C11, C28, C35: larger keys, learned features, a mixture of layers, each at the position and rate that
# e1-causal found for the mechanism as it is, whose runs count here as well. All models are of one size: larger
# keys take units from the feed-forward layer. Three seeds show what has not converged, relu with the third and
# performer with the second.
lengths = 256
seeds   = $(call full,3,1)
plan    = $(call changed,exp,$(four_d)) $(call changed,performer,--learn-omega --n-inner 448) \
              $(call changed,relu,,relu:conv=4$(comma)softmax) $(call changed,relu,--conv 4) $(call changed,relu,$(two_d)) \
              $(call changed,relu,$(four_d))
