#!/bin/sh
# experiments/losses/run.sh TEXT: trains every mechanism of the table for 500 steps on that text,
# as a causal and as a masked model, and adds a row for each to results.csv beside this script.
# A run whose row is there is not run again.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 TEXT" >&2; exit 2; }
text=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/../.."
rows=experiments/losses/results.csv
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

[ -s $rows ] || echo "attn,task,parameters,loss" >$rows
names=$(./train --help | awk '/^--attn NAME$/ { on = 1; next } on && /^$/ { exit }
                              on && /^  [a-z]/ { print $1 }')
for task in causal mlm; do
    for name in $names; do
        grep -q "^$name,$task," $rows && continue
        ./train --attn "$name" --task $task --n-layer 4 --n-head 4 --n-embd 128 --block-size 256 \
            --batch-size 8 --max-iters 500 --eval-interval 500 --sample-tokens 0 \
            --out-dir "$folder/$name-$task" "$text" >"$folder/out" 2>"$folder/err" ||
            { cat "$folder/err" >&2; exit 1; }
        parameters=$(awk '/ parameters, / { print $1; exit }' "$folder/err")
        loss=$(awk '/^validation loss / { print $3; exit }' "$folder/out")
        echo "$name,$task,$parameters,$loss" | tee -a $rows
    done
done
