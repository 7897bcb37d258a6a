#!/bin/sh
# experiments/bench/peers.sh [512] [bidirectional] [4096] [16384] [NAME...]: a training step of ours
# (./bench --only step) and of PyTorch's (torch_step.py) by turns, PAIRS times (2), the best of each.
# Parts and names of attentions choose; without any it is all of them. Their rows in ROWS (results.csv
# beside this script) are replaced, and the table that they make is printed.
LC_ALL=C # numbers have decimal points
export LC_ALL
set -eu
cd "$(dirname "$0")/../.."
: "${PYTHON:=python3}" "${PAIRS:=2}" "${THREADS:=$(getconf _NPROCESSORS_ONLN)}"
rows=${ROWS:-experiments/bench/results.csv} # from the project's root
header=attn,causal,length,batch,tokens_s,mib,torch_tokens_s,torch_mib,torch_products,torch,threads,processor,commit

parts='' names=''
for word; do
    case $word in
    512 | bidirectional | 4096 | 16384) parts="$parts $word" ;;
    softmax | relu | elu | exp | cosformer | performer | fastformer | gau) names="$names $word" ;;
    *) echo "$0: '$word' is neither a part nor an attention" >&2; exit 2 ;;
    esac
done
parts=${parts:-512 bidirectional 4096 16384}
names=${names:-softmax relu elu exp cosformer performer fastformer gau}
torch=$("$PYTHON" -c 'import torch; print(torch.__version__)' 2>/dev/null) ||
    { echo "skipped: $PYTHON has no PyTorch (PYTHON=... names another)"; exit 0; }
[ -x ./bench ] || { echo "make ./bench first" >&2; exit 1; }
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1 | tr -d ,)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "about $(($(echo "$parts" | wc -w) * $(echo "$names" | wc -w) * PAIRS / 2 + 1)) minutes on two cores" >&2

# Both print "tokens/s MiB", PyTorch's with the products it chose, or nothing if it cannot be done.
ours() { # OPTION...
    ./bench --only step --threads "$THREADS" --seconds 3 --csv "$folder/csv" "$@" >"$folder/out" 2>"$folder/err" ||
        { cat "$folder/err" >&2; return; }
    awk -F, -v n=$((length * batch)) '
        FILENAME ~ /csv$/ { sub(/"[^"]*"/, ""); if ($1 == "step") speed = n / $3; next }
        /^peak memory of the process/ { split($0, word, " "); print speed, word[6] }' \
        "$folder/csv" "$folder/out"
}
theirs() { # OPTION...: nothing either where a step takes more than a minute
    timeout 300 "$PYTHON" experiments/bench/torch_step.py --threads "$THREADS" --steps 6 \
        --most-seconds 12 "$@" >"$folder/out" 2>"$folder/err" || { tail -n 1 "$folder/err" >&2; return; }
    sed 's/[{}",:]/ /g' "$folder/out" | awk '{
        for (i = 1; i < NF; i++) at[$i] = $(i + 1)
        if (at["seconds"] <= 60) print at["tokens_per_s"], at["peak_mib"], at["products"] }'
}
best() { sort -k1,1gr | awk 'NR == 1 { print $1 "," $2 (NF > 2 ? "," $3 : ""); any = 1 } END { exit !any }'; }

[ -s "$rows" ] || echo $header >"$rows"
for part in $parts; do
    causal=causal length=512 batch=8
    set --
    case $part in
    bidirectional) causal=bidirectional && set -- --bidirectional ;;
    4096 | 16384) length=$part batch=1 ;;
    esac
    for name in $names; do
        rm -f "$folder/ours" "$folder/theirs"
        for pair in $(seq "$PAIRS"); do
            ours "$@" --attn "$name" --lengths "$length" --batch-size "$batch" >>"$folder/ours"
            [ "$pair" -gt 1 ] && [ ! -s "$folder/theirs" ] && continue # what it could not do once
            theirs "$@" --attn "$name" --length "$length" --batch-size "$batch" >>"$folder/theirs"
        done
        us=$(best <"$folder/ours") || us=-,-
        them=$(best <"$folder/theirs") || them=-,-,-
        grep -v "^$name,$causal,$length,$batch," "$rows" >"$folder/rows" || :
        echo "$name,$causal,$length,$batch,$us,$them,$torch,$THREADS,$processor,$commit" |
            tee -a "$folder/rows" >&2
        cat "$folder/rows" >"$rows"
    done
done
sh experiments/bench/table.sh "$rows"
