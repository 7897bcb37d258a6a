# Claim C14: masked models of c03-perplexity, trained again for the ranks of their attention.
lengths = 256
also    = experiments/c14-rank/ranks run
plan    = $(foreach attn,softmax gau relu,$(call series,wikitext-2,c03:$(call rates,$(attn)), \
              --task mlm --attn $(attn) $(call model,$(attn)) $(call batch,256) $(muon)))
