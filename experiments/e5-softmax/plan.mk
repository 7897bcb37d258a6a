# Claims C25 and C26: softmax with a window, and with larger keys, which take units from the feed-forward layer, at
# the position and rate that e1-causal found for it as it is; its runs there count here as well.
lengths = 256
seeds   = $(call full,5,1)
plan    = $(call changed,softmax,$(two_d)) $(call changed,softmax,--window 32)
