#!/bin/sh
# The programs under Valgrind: no read of memory that was never written, none outside of a block, and
# nothing lost. Called by `make valgrind`, with programs for a processor that Valgrind knows in ROOT. The
# last line says how many commands there were.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
command -v valgrind >/dev/null || {
    echo 'skipped: valgrind (it is not installed)'
    exit 0
}
here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
root=$(cd "${ROOT:-$here}" && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
head -c 3000 "$here/ops/kernel/gemm.c" >text
head -c 3000 "$here/ops/kernel/panels.c" >other
small='--n-layer 2 --n-embd 16 --n-head 2 --block-size 24 --batch-size 2 --eval-iters 1 --sample-tokens 2 --threads 2'
tried=0 failed=0

clean() { # PROGRAM OPTION...
    program=$1
    shift
    tried=$((tried + 1))
    valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
        --fair-sched=yes "$root/$program.linked" "$@" >out 2>err && return
    failed=$((failed + 1))
    echo "FAILED: $program $*"
    grep -m 12 '^==\|error:' err
}

attentions() { "$root/train.linked" --help | sed -n '/^--attn NAME/,/^$/s/^  \([a-z][a-z0-9_-]*\)  .*/\1/p'; }
for name in ${ATTN:-$(attentions)}; do
    before=$tried
    for task in causal mlm; do
        "$root/train.linked" $small --attn $name --task $task --dry-run text >out 2>&1 || continue
        clean train $small --attn $name --task $task --max-iters 2 --out-dir $name-$task text
        clean eval $name-$task --lengths 8,24,48 --csv e.csv --svg e.svg --threads 2
        [ $task = mlm ] || clean sample $name-$task --prompt 'the ' --tokens 40 --samples 2 --threads 1
    done
    [ $tried -gt $before ] || { failed=$((failed + 1)); echo "FAILED: $name cannot be trained: $(cat out)"; }
done
run=softmax-causal
for optimizer in adamw muon sgd lion; do
    clean train $small --optimizer $optimizer --max-iters 2 --tensorboard --out-dir $optimizer text
done
clean train $small --precision bf16 --recompute --ema 0.9 --shuffle --dropout 0.1 --max-iters 2 --out-dir bf16 text
clean train $small --tokenizer bpe:300 --story-bytes 20000 --max-iters 2 --out-dir stories
clean train $small --task classify --max-iters 2 --out-dir books text other
clean train $small --task mqar --attn relu --conv 4 --symbols 64 --items 2 --max-iters 2 --out-dir recall
clean train --resume --max-iters 4 $run
clean train $small --init $run --max-iters 1 --out-dir tuned other
clean classify books text
clean fill softmax-mlm 'the ___ of'
clean analyse $run --csv a
clean report -o r.html $run adamw muon
clean tokenize --tokenizer bpe:270 --json t.json --check text
clean export $run exported
clean import exported imported
clean gradcheck --attn cosformer --elements 1
echo "$tried commands, $failed failed"
[ $failed = 0 ]
