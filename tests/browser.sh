#!/bin/sh
# The page of ./report, of 1, 10 and 100 runs, in Chromium. Skipped without it.
LC_ALL=C # numbers have decimal points
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ] || ! command -v python3 >/dev/null; then
    echo "skipped: needs chromium and python3"
    exit 0
fi
dir=$(mktemp -d) || exit 1
[ "$KEEP" ] && echo "$dir" || trap 'rm -rf "$dir"' EXIT

# A few runs of several groups, one of them hostile, and copies of them with other seeds and losses.
train() {
    name=$1
    shift
    ./train --n-layer 2 --n-head 2 --n-embd 16 --block-size 32 --batch-size 4 --max-iters 60 \
        --eval-interval 10 --log-interval 2 --threads 1 --out-dir "$dir/$name" "$@" >/dev/null 2>&1 ||
        { echo "cannot train $name"; exit 1; }
}
bidi=$(printf '\342\200\256')
train softmax --attn softmax
train cosformer --attn cosformer
train gau --attn gau --learning-rate 0.01
train copy --attn relu --task copy
train characters --attn softmax --tokenizer char README.md
train "<img src=x onerror=alert(1)>$bidi-a-name-that-is-as-long-as-they-come-$(printf %0100d 0)" --attn elu
./eval "$dir/softmax" --lengths 16,32,64 --csv "$dir/softmax/eval.csv" >/dev/null 2>&1

mkdir "$dir/many"
i=0
while [ $i -lt 100 ]; do
    set -- softmax cosformer gau softmax cosformer
    shift $((i % 5))
    cp -r "$dir/$1" "$dir/many/$1-$i"
    sed -i "s/\"seed\": [0-9]*/\"seed\": $i/" "$dir/many/$1-$i/config.json"
    sed -i "s/\"loss\":\([0-9]\)\.[0-9]/\"loss\":\1.$((i % 10))/" "$dir/many/$1-$i/log.jsonl"
    i=$((i + 1))
done
set -- "$dir/many"/*-[0-3]
./report -o "$dir/1.html" --prompt 'To be, or <b>not</b> to be' "$dir/softmax" &&
    ./report -o "$dir/10.html" --prompt "Once$bidi upon" "$@" "$dir"/[!m]*/ &&
    ./report -o "$dir/100.html" "$dir"/many/* || exit 1
wc -c "$dir"/*.html | sed "s|$dir/||"
python3 tests/browser.py "$chromium" "$dir"/*.html
