#!/bin/sh
# Claim C13: how much worse linear attention is than softmax, by the length that it is trained at.
# The length 256, and the learning rates, are those of c03-perplexity.
cd "$(dirname "$0")/../.." || exit 1
name=c13-length
. experiments/lib/experiment.sh

linear=relu # more of them are shown, and do not count

plan() {
    for attn in softmax $linear; do
        for task in causal mlm; do
            for length in 64 1024; do
                echo "wikitext-2 c03 $length --task $task --attn $attn $(model "$attn") $(batch $length) $training"
            done
        done
    done
}

gap() { # TASK ATTN LENGTH WEIGHT: that much worse than softmax
    echo "+ $4 $1/$2/$3 - $4 $1/softmax/$3"
}
gap_less() { echo "- $4 $1/$2/$3 + $4 $1/softmax/$3"; }

statements() { # ATTN: with brackets unless it is the source's
    if [ "$1" = relu ]; then open='' close=''; else open='(' close=')'; fi
    echo "${open}masked, the gap of $1 is larger at 1024 than at 64:" \
        "$(gap mlm "$1" 1024 1) $(gap_less mlm "$1" 64 1)$close"
    echo "${open}at 1024 the masked gap of $1 is more than twice the causal one:" \
        "$(gap mlm "$1" 1024 1) $(gap_less causal "$1" 1024 2)$close"
}

page() {
    experiments/c03-perplexity/run.sh --chosen >"$work/c03.csv" || return
    awk -F , 'FNR == 1 && NR > 1 { next } NR == 1 || $1 == "wikitext-2" && $5 == $11' \
        "$work/chosen.csv" "$work/c03.csv" >"$work/both.csv"
    mv "$work/both.csv" "$work/chosen.csv"
    by="--by attn --x trained --y loss --order softmax"
    only="attn=softmax|$(echo "$linear" | tr ' ' '|')"
    for task in causal mlm; do
        # shellcheck disable=SC2086 # options are words
        draw $task.svg --where "$only,task=$task" $by --log-x --title "WikiText-2, $(task_name "$task")" \
            --x-label "length that is trained and tested (bytes)" --y-label "loss (nats a byte)"
        # shellcheck disable=SC2086
        table --where "$only,task=$task" $by | part $task
    done
    means --where "$only" --by task,attn --x trained --y loss
    for attn in $linear; do statements "$attn"; done | judge C13 | part verdict
}

experiment "$@"
