# Claims C31 to C33: relu and elu with RoPE, and one change to them at a time, at the rates that e1-causal found, whose
# runs count here as well if they have RoPE.
lengths = 256
seeds   = $(call full,5,1)
guess   = relu:rope:256:0.008 elu:rope:256:0.008
found_  = $(call screened,e1-causal,$(guess))
arm     = $(call series,stories,$(call part_of,4,$(filter $(1):%,$(found_))),--task causal --attn $(1) --position rope $(2) \
              $(two) $(call subwords,21500000) $(call batch,256) $(call for,4883) $(settled))
plan    = $(if $(found_),$(foreach attn,relu elu,$(if $(filter $(attn):rope:%,$(found_)),,$(call arm,$(attn))) \
              $(call arm,$(attn),--rope-at before) $(call arm,$(attn),--qk-norm l2)) $(call arm,relu,--out-norm rms))
