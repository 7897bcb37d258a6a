#!/bin/sh
# How far every mechanism is from the true entropy of the built-in stories.
cd "$(dirname "$0")/../.." || exit 1
name=stories
. experiments/lib/experiment.sh

plan() {
    for attn in $(attentions); do
        small=$(model "$attn" | sed 's/--n-layer 4/--n-layer 2/')
        echo "stories c03 256,64,16 --task causal --attn $attn $small $(batch 256) $training"
    done
}

page() {
    draw floor.svg --by attn --x length --y above_floor --log-x --log-y \
        --title "Above the true entropy of the stories" --x-label "context (bytes)" \
        --y-label "nats a byte"
    table --by attn --x length --y above_floor | part floor
}

experiment "$@"
