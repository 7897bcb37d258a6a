#!/bin/sh
# Every allocation and every call for a file fails, one after the other: once, and from then on.
# Called by make faults; EVERY=40 tries only every 40th, FLOWS="train eval" only these.
#
# Whatever fails, a program ends with 3 (memory) or 4 (files) and one line on stderr that begins with
# `attn.c: error:`, or it did without and its results are the same as ever. No temporary file is
# left, and the checkpoints that were there are, or whole ones after them. Then the program is
# killed before each call for a file: the run that it leaves goes on. Last, all reads and writes are
# interrupted and cut short, which changes nothing.
#
# The last line has the numbers of sites. Needs Linux with glibc, as tests/faults/preload.c does.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
printf '#include <features.h>\n#if !defined __GLIBC__ || !defined __linux__\n#error\n#endif\n' |
    ${CC:-cc} -E -x c - >/dev/null 2>&1 || {
    echo 'skipped: faults (this is not Linux with glibc)'
    exit 0
}
${CC:-cc} -std=c11 -O1 -shared -fPIC "$root/tests/faults/preload.c" -o "$dir/preload.so" || exit 1
every=${EVERY:-1}
cd "$dir" || exit 1
head -c 600 "$root/ops/kernel/gemm.c" >text
small='--n-layer 1 --n-embd 8 --n-head 1 --block-size 8 --batch-size 1 --max-iters 2 --eval-interval 1
       --eval-iters 1 --threads 1 --sample-tokens 2 --log-interval 1'
mkdir here
(cd here && "$root/train" $small --seed 2 --stop-at 1 --out-dir ../begun ../text) >/dev/null 2>&1
(cd here && "$root/train" $small --seed 3 --out-dir ../before ../text) >/dev/null 2>&1
range() { printf '"%s":{"dtype":"F32","shape":[1,64,1,1],"data_offsets":[%s]}' "$@"; }
header="{$(range q 0,256),$(range k 256,512),$(range v 512,768)}"
# shellcheck disable=SC2059 # eight bytes of length, little end first: the format is the first
{ printf "\\$(printf %o ${#header})\0\0\0\0\0\0\0"; printf %s "$header"; } >tensors
head -c 768 /dev/zero >>tensors

# What is done, in a folder that starts as `here`: the command, and the files that matter after it.
command() {
    case $1 in
    train) echo "$root/train $small --tensorboard --out-dir new ../text" ;;
    overwrite) echo "$root/train $small --overwrite --out-dir run ../text" ;;
    resume) echo "$root/train --resume --tensorboard --threads 1 run" ;;
    eval) echo "$root/eval --threads 1 --lengths 4,8 --csv e.csv --svg e.svg run" ;;
    sample) echo "$root/sample --threads 1 --tokens 20 --seed 1 run" ;;
    attend) echo "$root/attend --attn softmax --matrix --threads 1 ../tensors out.safetensors" ;;
    report) echo "$root/report --threads 1 --text ../text -o r.html run" ;;
    tokenize) echo "$root/tokenize --tokenizer bpe:260 --json t.json --check ../text" ;;
    export) echo "$root/export run exported" ;;
    esac
}
results='*/*.safetensors *.safetensors *.csv *.svg *.html *.json exported/*'
begin() { # FLOW: the folder as the program finds it
    rm -rf here
    mkdir here
    case $1 in
    train | attend | tokenize) ;;
    resume) cp -r ../begun here/run ;;
    *) cp -r ../before here/run ;;
    esac
}
run() { # FAULT: sets code; stdout and stderr are in out and err
    ( # which says on stderr that it was killed
        cd here && timeout 20 env LD_PRELOAD="$dir/preload.so" FAULT="$1" FAULT_COUNT=../count $command >../out 2>../err
        exit $?
    ) 2>/dev/null
    code=$?
}
state() { # what results are, by their contents; times in files are not
    (cd here && for file in $results; do [ ! -f "$file" ] || cksum "$file"; done)
}
sums() { (cd here && for file in */*.safetensors; do [ ! -f "$file" ] || cksum <"$file"; done); }

failed=0
fail() {
    failed=$((failed + 1))
    echo "FAILED: $flow, $1: $2 ($(tr '\n\033' '??' <err | head -c 300))"
}
# Checkpoints are those that were there or of the run, or else, checked once, others that are whole.
whole() {
    sums >now
    for sum in $(sed 's/ /:/' now); do
        grep -qx "$sum" known && continue
        for file in here/*/*.safetensors; do
            [ "$(cksum <"$file" | sed 's/ /:/')" = "$sum" ] || continue
            "$root/tokenize" --run "$file" text >/dev/null 2>&1 || return 1
        done
        echo "$sum" >>known
    done
}
judge() { # FAULT CODE
    errors=$(grep -c '^attn.c: error: ' err)
    [ -z "$(find here -name '*.tmp' -o -name .lock -o -name '*.part')" ] || fail "$1" "left $(find here -name '*.tmp' -o -name .lock)"
    case $code in
    0)
        without=$((without + 1))
        [ "$errors" = 0 ] || fail "$1" 'an error, but exit 0'
        # what a report could not read is on its page
        state | cmp -s - state || grep -qs 'What could not be read' here/r.html || fail "$1" 'exit 0 with other results'
        sed '/ in [0-9.]* s/d' out | cmp -s - right || fail "$1" 'exit 0 with another output'
        ;;
    "$2")
        [ "$errors" = 1 ] || fail "$1" "$errors errors"
        [ "$(grep '^attn.c: error: ' err | wc -c)" -le 400 ] || fail "$1" 'a long error'
        ;;
    *) fail "$1" "exit $code" ;;
    esac
    whole || fail "$1" 'a damaged checkpoint'
    case $flow in train | attend | tokenize) return ;; esac
    for file in model.safetensors log.jsonl; do # where no folder can be opened, the next process moves them back
        [ -s here/run/$file ] || { [ -s here/run/.replaced/$file ] && [ "${1#files}" != "$1" ]; } || fail "$1" "$file is lost"
    done
}
goes_on() { # after a kill
    grep -q "train " words || return 0
    set -- here/*/model.safetensors
    [ -s "$1" ] || { set -- here/*/.replaced/model.safetensors && [ -s "$1" ]; } || [ "$flow" = train ] || return 1
    [ ! -s here/run/log.jsonl ] && [ ! -d here/run/.replaced ] && [ "$flow" = train ] && return 0
    (cd here && "$root/train" --resume --threads 1 run >../out 2>../err)
    case $? in 0 | 130) ;; *) return 1 ;; esac
    [ -z "$(find here -name '*.tmp' -o -name .replaced)" ]
}
flow() { # FLOW
    flow=$1 without=0
    mkdir "$flow"
    cd "$flow" || exit 1
    cp ../text ../tensors .
    command=$(command "$flow")
    echo "$command" >words
    begin "$flow"
    sums | sed 's/ /:/' >known
    run none
    [ $code = 0 ] || fail none "exit $code"
    sums | sed 's/ /:/' >>known
    state >state
    sed '/ in [0-9.]* s/d' out >right
    read -r memory files <count
    [ "$memory" -gt 0 ] && [ "$files" -gt 0 ] || fail none "$memory allocations and $files calls for files"
    for kind in memory files; do
        wanted=3 sites=$memory
        [ $kind = memory ] || wanted=4 sites=$files
        n=1
        while [ $n -le "$sites" ]; do
            for fault in $kind:$n $kind:$n+; do
                begin "$flow"
                run $fault
                judge $fault $wanted
            done
            n=$((n + every))
        done
    done
    n=1
    while [ $n -le "$files" ]; do
        begin "$flow"
        run kill:$n
        whole || fail kill:$n 'a damaged checkpoint'
        goes_on || fail kill:$n 'the run does not go on'
        n=$((n + every))
    done
    begin "$flow"
    run short:1+
    [ $code = 0 ] && state | cmp -s - state || fail short "exit $code"
    echo "$memory $files $without $failed" >sites
}
for name in ${FLOWS:-train overwrite resume eval sample attend report tokenize export}; do
    (flow $name) &
    running=$((${running:-0} + 1))
    [ $((running % $(getconf _NPROCESSORS_ONLN))) != 0 ] || wait
done
wait
cat ./*/sites 2>/dev/null | awk -v flows="${running:-0}" -v every="$every" '
    { memory += $1; files += $2; without += $3; failed += $4 }
    END {
        printf "%d programs: %d allocations and %d calls for files%s failed, once and from then on", flows, memory, files,
            (every > 1 ? ", of which one in " every : "")
        printf "; %d did without, %d failures\n", without, failed
        exit failed > 0 || NR != flows
    }'
