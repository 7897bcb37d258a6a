#!/bin/sh
# experiments/tasks/run.sh: trains every mechanism of the table on associative recall (mqar) and on
# short ListOps, and adds a row for each to results.csv beside this script. A run whose row is there
# is not run again.
set -eu
cd "$(dirname "$0")/../.."
rows=experiments/tasks/results.csv
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

[ -s $rows ] || echo "attn,task,parameters,accuracy,guessing,most_frequent" >$rows
names=$(./train --help | awk '/^--attn NAME$/ { on = 1; next } on && /^$/ { exit }
                              on && /^  [a-z]/ { print $1 }')
settings() { # of a task
    echo "--task $1 --block-size 64 --n-layer 2 --n-embd 64 --batch-size 64 --optimizer muon"
    case $1 in
    mqar) echo "--symbols 256 --items 4 --n-head 1 --max-iters 1500" ;;
    listops) echo "--n-head 2 --max-iters 1500" ;;
    esac
}
for task in mqar listops; do
    for name in $names; do
        grep -q "^$name,$task," $rows && continue
        # shellcheck disable=SC2046 # words
        ./train --attn "$name" $(settings $task) --eval-interval 1500 --sample-tokens 0 \
            --out-dir "$folder/$name-$task" >"$folder/out" 2>"$folder/err" ||
            { cat "$folder/err" >&2; exit 1; }
        parameters=$(awk '/ parameters, / { print $1; exit }' "$folder/err")
        accuracy=$(sed -n 's/^validation loss .* accuracy \([0-9.]*\)%.*/\1/p' "$folder/out")
        levels=$(sed -n 's/^for comparison: guessing is right in \([0-9.]*\)%, .* in \([0-9.]*\)%/\1,\2/p' "$folder/out")
        echo "$name,$task,$parameters,$accuracy,$levels" | tee -a $rows
    done
done
