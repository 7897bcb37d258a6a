#!/bin/sh
# What may not matter to a run does not: it leaves the same bytes of weights, and the same losses in
# its log, with any number of threads, whatever freed memory has in it, in an environment of any
# size, on one processor, and wherever it was stopped and resumed. Called by `make same`;
# POINTS=50 is the number of places to stop at. The last line has the number of comparisons.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
head -c 20000 "$root/ops/kernel/gemm.c" >text
small='--n-layer 2 --n-embd 32 --n-head 2 --block-size 32 --batch-size 4 --sample-tokens 0 --eval-iters 1
       --seed 5 --dropout 0.1'
compared=0 failed=0

losses() { sed -n 's/.*"split":"\([a-z]*\)","loss":\([^,]*\),.*/\1 \2/p' "$1/log.jsonl"; }
same() { # SENTENCE RUN OTHER
    compared=$((compared + 1))
    cmp -s "$2/model.safetensors" "$3/model.safetensors" && [ "$(losses "$2")" = "$(losses "$3")" ] ||
        { failed=$((failed + 1)); echo "FAILED: $1"; }
}
# Both ways round; a mechanism has one of them at least. The weights do not depend on the folder,
# but the log says how the run was called.
trained() { # FOLDER OPTION...
    folder=$1
    shift
    rm -rf "$folder"
    "$root/train" $small --out-dir "$folder" "$@" text >out 2>err
}
attentions() { "$root/train" --help | sed -n '/^--attn NAME/,/^$/s/^  \([a-z][a-z0-9_-]*\)  .*/\1/p'; }
for name in ${ATTN:-$(attentions)}; do
    before=$compared
    for task in causal mlm; do
        trained one --attn $name --task $task --max-iters 12 --threads 1 || continue
        for threads in 2 3 4 7 8; do
            trained other --attn $name --task $task --max-iters 12 --threads $threads
            same "$name, $task, with $threads threads" one other
        done
        for fill in 1 85 255; do
            MALLOC_PERTURB_=$fill trained other --attn $name --task $task --max-iters 12 --threads 2
            same "$name, $task, with memory full of $fill" one other
        done
    done
    [ $compared -gt $before ] || { failed=$((failed + 1)); echo "FAILED: $name cannot be trained: $(cat err)"; }
done

# An environment of another size moves the stack; one processor has threads take turns.
trained one --max-iters 12 --threads 3
for bytes in 1 4097 100000; do
    FILLING=$(printf "%0${bytes}d" 0) && export FILLING
    trained other --max-iters 12 --threads 3
    same "an environment of $bytes bytes more" one other
done
unset FILLING
if command -v taskset >/dev/null; then
    rm -rf other
    taskset -c 0 "$root/train" $small --out-dir other --max-iters 12 --threads 3 text >out 2>err
    same 'on one processor' one other
fi

# Stopped after each step, some of them twice, where an evaluation is due and where none is.
points=${POINTS:-50}
run="--max-iters $points --eval-interval 7 --attn softmax,relu --log-interval 1 --optimizer muon"
trained one $run
step=1
while [ $step -lt "$points" ]; do
    trained other $run --threads $((step % 3 + 1)) --stop-at $step
    [ $((step % 5)) != 0 ] || "$root/train" --resume --stop-at $((step + 1)) other >out 2>err
    "$root/train" --resume --threads $(((step + 1) % 3 + 1)) other >out 2>err
    same "stopped after step $step" one other
    step=$((step + 1))
done
echo "$compared comparisons, $failed differ"
[ $failed = 0 ] && [ $compared -gt 0 ]
