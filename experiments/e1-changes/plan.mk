# Claims C31 to C33: relu and elu with RoPE, and one change to them at a time, at the rates that e1-causal found, whose
# runs count here as well if they have RoPE. At 0.002 relu with normalised q and k does not converge with the second
# seed, and at 0.004 relu with a norm of the output does not with the first; both rates were run before this was known.
lengths = 256
seeds   = $(call full,5,1)
converging = 1
arm     = $(call ten_million,$(call its_rates,$(1)),$(1) --position rope $(2))
plan    = $(if $(compared),$(foreach attn,relu elu,$(if $(filter $(attn):rope:%,$(compared)),,$(call arm,$(attn))) \
              $(call arm,$(attn),--rope-at before) $(call arm,$(attn),--qk-norm l2)) $(call arm,relu,--out-norm rms))
