# Claims C25 and C26: softmax with a window, and with larger keys, which take units from the feed-forward layer, at
# the position and rate that e1-causal found for it as it is. Its first five runs are repeated from there; after five
# seeds C25 was open, and its page said that six would decide.
lengths = 256
seeds   = $(call full,6,1)
plan    = $(call changed,softmax) $(call changed,softmax,$(two_d)) $(call changed,softmax,--window 32)
