# What the experiments have in common: sizes, mechanisms, and what a learning rate may be.
# shellcheck shell=sh disable=SC2034 # they are for run.sh

seeds=$(full 3 1)
rates=$(full 0.004,0.008,0.016 0.008)
gated_rates=$(full 0.002,0.004,0.008 0.008) # as many; a gated unit wants smaller ones
training="--optimizer muon --max-iters $(full 1000 3)"
batch() { echo "--block-size $1 --batch-size $((2048 / $1))"; } # a step has 2,048 tokens

attentions() { # all of the program's table
    ./train --help |
        awk '/^--attn NAME$/ { on = 1; next } on && /^$/ { exit } on && /^  [a-z]/ { print $1 }'
}

# 4 x 128, or what has as many parameters: a gated unit has more at the same width, and learned
# positions would count. The largest difference is 1.8%.
model() { # of a mechanism
    case $1 in
    gau | flash)
        full "--n-layer 4 --n-embd 120 --key-size 112" "--n-layer 1 --n-embd 12 --key-size 8" ;;
    efficient | fastformer) echo "$(model softmax) --position sinusoidal" ;;
    *) full "--n-layer 4 --n-embd 128 --n-head 4" "--n-layer 1 --n-embd 16 --n-head 2" ;;
    esac
}

task_name() { # as a title says it
    if [ "$1" = mlm ]; then echo masked; else echo "$1"; fi
}
