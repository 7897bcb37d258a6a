# How far every mechanism is from the true entropy of the built-in stories. Mechanisms with parameters
# of their own have fewer inner units, so all models are of one size; the largest difference is 1.2%. The
# first seed alone chooses the rate.
lengths = 256,64,16
spread  = 0
units_of = based:576 mamba2:536 deltanet:504 hedgehog:480 retnet:448 decay:448 lightning:448 \
           poolingformer:448 nystromformer:448 gated-delta:440 gla:432 kda:424 synthesizer:384 rwkv7:304 \
           linformer:192
inner   = $(addprefix --n-inner ,$(patsubst $(1):%,%,$(filter $(1):%,$(units_of))))
tiny    = $(call full,,--story-bytes 40000)
layers  = $(subst --n-layer 4,--n-layer 2,$(call model,$(attn))) $(call inner,$(attn))
masked  = softmax relu linformer nystromformer
narrow  = $(if $(filter linformer,$(attn)),--rank 32)
plan    = $(foreach attn,$(call those_of,causal),$(call series,stories,$(call swept,$(attn)), \
              --task causal --attn $(attn) $(layers) $(call batch,256) $(muon) $(tiny)))
plan   += $(foreach attn,$(masked),$(call series,stories,$(call swept,$(attn)), \
              --task mlm --attn $(attn) $(narrow) $(layers) $(call batch,256) $(muon) $(tiny)))
