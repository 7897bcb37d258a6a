# Claims C2, C3, C10, C21, C31, C32, C33: every mechanism with the position and rate that e1-screen found, ten
# million tokens; relu and elu also with RoPE, and from there one change at a time, at the same rate.
lengths = 256
seeds   = $(call full,5,1)
also    = experiments/analysed spread run
guess   = $(foreach attn,softmax relu elu exp cosformer performer,$(attn):rope:256:0.008)
found_  = $(call screened,e1-screen,$(guess))
run     = $(call series,stories,$(2),--task causal --attn $(1) $(four) $(call subwords,21500000) \
              $(call batch,256) $(call for,4883) $(settled))
rate_of = $(or $(call part_of,4,$(filter $(1):rope:%,$(found_))),0.008)
arm     = $(call run,$(1) --position rope $(2),$(call rate_of,$(1)))
ours    = $(foreach attn,softmax relu elu exp cosformer performer,$(filter $(attn):%,$(found_)))
plan    = $(sort $(foreach best,$(ours),$(call run,$(call part_of,1,$(best)) --position \
              $(call part_of,2,$(best)),$(call part_of,4,$(best)))) \
              $(if $(found_),$(foreach attn,relu elu,$(call arm,$(attn)) $(call arm,$(attn),--rope-at before) \
                  $(call arm,$(attn),--qk-norm l2)) $(call arm,relu,--out-norm rms)))
