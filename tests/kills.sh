#!/bin/sh
# A run that saves after every step is killed again and again, at any moment, and each time goes on
# from what it left. Called by `make kills`; KILLS=200 is how often. At its end it has the weights
# of a run that was never killed, to the bit, and no file of its killed processes is left.
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
kills=${KILLS:-200}
head -c 20000 "$root/ops/kernel/gemm.c" >text
small='--n-layer 2 --n-embd 32 --n-head 2 --block-size 16 --batch-size 4 --sample-tokens 0
       --eval-interval 1 --eval-iters 1 --save-interval 0 --seed 7
       --schedule constant --warmup-iters 1 --log-interval 1 --max-iters 1000000'
fail() {
    echo "FAILED after $killed kills: $1"
    tail -n 3 err
    exit 1
}

stop_at() { # STEP OPTION...: as with Ctrl-C
    "$root/train" --threads 1 --stop-at "$@" >out 2>err
    [ $? = 130 ]
}
killed=0
# shellcheck disable=SC2086 # options are words
stop_at 1 $small --out-dir run text || fail 'it does not begin'
while [ "$killed" -lt "$kills" ]; do
    "$root/train" --resume --threads 1 run >out 2>err &
    process=$! lines=$(wc -l <run/log.jsonl)
    [ $((killed % 4)) = 0 ] || # else it may still be starting
        until [ "$(wc -l <run/log.jsonl)" -gt "$lines" ]; do sleep 0.01; done
    sleep "0.0$(awk -v n="$killed" 'BEGIN { srand(n); printf "%02d", 40 * rand() }')"
    kill -KILL $process 2>/dev/null
    wait $process 2>/dev/null
    code=$?
    [ $code = 137 ] || fail "exit $code"
    ! grep -q 'attn.c: error' err || fail 'an error'
    killed=$((killed + 1))
done
at=$(sed -n 's/^{"step":\([0-9]*\),.*/\1/p' run/log.jsonl | tail -n 1)
stop_at $((at + 5)) --resume run || fail 'it does not go on'
# shellcheck disable=SC2086
stop_at $((at + 5)) $small --out-dir whole text || fail 'the run that is not killed'
cmp -s run/model.safetensors whole/model.safetensors || fail 'the weights differ'
[ -z "$(find run -name '*.tmp' -o -name .lock)" ] || fail "left $(find run -name '*.tmp' -o -name .lock)"
echo "$killed of $killed kills, in $at steps: the weights are those of a run that was not killed"
