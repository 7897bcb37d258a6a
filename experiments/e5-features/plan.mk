# Claim C28: learned features, at the position and rates that e1-causal found for the mechanisms as they are, whose
# runs count here as well. Both have 128 features a head, and units of the feed-forward layer pay for their weights.
lengths = 256
seeds   = $(call full,5,1)
converging = 1
plan    = $(call changed,exp,$(four_d)) $(call changed,performer,--learn-omega --n-inner 448)
