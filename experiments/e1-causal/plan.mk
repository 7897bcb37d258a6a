# Claims C2, C3, C10, C21: every mechanism at the position that e1-screen found, ten million tokens. The rates are
# swept again: longer runs want lower ones than those of the screen. Models of 4 x 64 stay on a plateau of 1.51 that
# those of 2 x 128 have left after half of these tokens.
lengths = 256
seeds   = $(call full,5,1)
converging = 1
also    = experiments/analysed spread run
from    = $(call full,0.004$(comma)0.008$(comma)..,0.008)
guess   = $(foreach attn,softmax relu elu exp cosformer performer,$(attn):rope:256:0.008)
found_  = $(filter-out deltanet:% fastformer:%,$(call screened,e1-screen,$(guess)))
plan    = $(foreach best,$(found_),$(call ten_million,$(from),$(call part_of,1,$(best)) --position $(call part_of,2,$(best))))
