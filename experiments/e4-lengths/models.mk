# The models of e4-screen and e4-lengths: gated units by $(norm), and softmax in several heads by $(scale). At the one
# length of --base, fixed trains to the same bits as n, and entropy and logn to those of softmax (see `more`).
comma  := ,
norms   = n n2 sum softmax
masked  = --task mlm --mask-share 0.3
gated   = $(masked) --attn gau --norm $(norm) \
          $(call full,--n-layer 2 --n-embd 64 --key-size 64,--n-layer 1 --n-embd 12 --key-size 8)
heads4  = $(masked) --attn softmax --scale $(scale) --base 512 \
          $(call full,--n-layer 4 --n-embd 64 --n-head 4,--n-layer 1 --n-embd 16 --n-head 2)
learned = $(call subwords,$(1)) $(call for,$(2)) $(settled)
