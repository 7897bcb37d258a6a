# Claims C31 to C33: relu and elu with RoPE, and one change to them at a time, at the rates that e1-causal found, whose
# runs count here as well if they have RoPE. Those of relu are tried at 0.002 and 0.004: at either, one variant has a run
# that does not converge.
lengths = 256
seeds   = $(call full,5,1)
converging = 1
arm     = $(call ten_million,$(call its_rates,$(1)),$(1) --position rope $(2))
plan    = $(if $(compared),$(foreach attn,relu elu,$(if $(filter $(attn):rope:%,$(compared)),,$(call arm,$(attn))) \
              $(call arm,$(attn),--rope-at before) $(call arm,$(attn),--qk-norm l2)) $(call arm,relu,--out-norm rms))
