#!/bin/sh
# Claim C3: trains every mechanism on WikiText-2, causal and masked, and some on a book.
cd "$(dirname "$0")/../.." || exit 1
name=c03-perplexity
. experiments/lib/experiment.sh

plan() {
    for task in causal mlm; do
        for attn in $(attentions); do
            try=$(case $attn in gau | flash) echo "$gated_rates" ;; *) echo "$rates" ;; esac)
            echo "wikitext-2 $try 256,64,16 --task $task --attn $attn $(model "$attn") $(batch 256) $training"
        done
    done
    for attn in softmax relu elu cosformer; do
        echo "war-and-peace 0.008 256,64,16 --task causal --attn $attn $(model "$attn") $(batch 256) $training"
    done
}

statements() {
    for text in wikitext-2 war-and-peace; do
        echo "$text, elu is worse than softmax: $text/elu/256 - $text/softmax/256"
        echo "$text, cosformer is nearer to softmax than to elu:" \
            "1/2 $text/elu/256 + 1/2 $text/softmax/256 - $text/cosformer/256"
        echo "($text, cosformer is better than softmax: $text/softmax/256 - $text/cosformer/256)"
        echo "($text, relu is worse than softmax: $text/relu/256 - $text/softmax/256)"
    done
}

page() {
    for task in causal mlm; do
        draw $task.svg --where text=wikitext-2,task=$task --by attn --x length --y loss --log-x \
            --title "WikiText-2, $(task_name "$task")" --x-label "context (bytes)" --y-label "loss (nats a byte)"
        table --where "text=wikitext-2,task=$task" --by attn --x length --y loss | part "$task"
        sweep $task | part "rates-$task"
    done
    table --where text=war-and-peace --by attn --x length --y loss | part book
    table --where text=wikitext-2,length=256 --by attn --x task --y parameters --digits 0 |
        part parameters
    means --where task=causal --by text,attn --x length --y loss
    statements | judge C3 | part verdict
}

sweep() { # of a task: seed 1 at all rates
    ./figure --table --where "text=wikitext-2,task=$1,seed=1,length=256" --by attn --x rate --y loss \
        "$results"
}

experiment "$@"
