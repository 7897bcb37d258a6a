#!/bin/sh
# What a user, a shell or a disk can do to the programs: generated command lines, texts of every
# kind, and limits of memory, files and descriptors. Called by `make abuse`; tests/abuse/judge.c
# says what always holds. PARTS="lines texts limits disk meanwhile" are its parts, ROOT=folder has the
# programs, SLOW=10 is for those with sanitizers. The last line says how many cases there were.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
root=${ROOT:-$here}
dir=$(mktemp -d) || exit 1
trap 'umount "$dir/disk" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
[ "$(uname)" = Linux ] || {
    echo 'skipped: abuse (its judge needs more than POSIX)'
    exit 0
}
${CC:-cc} -std=c11 -O1 "$here/tests/abuse/judge.c" -o "$dir/judge" || exit 1
[ -z "$FLIPS" ] || FLIPS=$(cd "$here" && cd "$(dirname "$FLIPS")" && pwd)/${FLIPS##*/}
cd "$dir" || exit 1
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # who refuses frees nothing
export ASAN_OPTIONS
mkdir here in disk
tab='	' cases=0 failed=0
bytes() { head -c "$1" "$here/ops/kernel/gemm.c"; }
bytes 3000 >in/text
bytes 2000 >in/other
small='--n-layer 1 --n-embd 16 --n-head 2 --block-size 16 --batch-size 2 --max-iters 3 --threads 1
       --eval-iters 1 --sample-tokens 0'
words=$(echo $small | tr ' ' "$tab")
"$root/train" $small --out-dir in/run "$dir/in/text" >/dev/null 2>&1
"$root/train" $small --task mlm --out-dir in/masked in/text >/dev/null 2>&1
"$root/train" $small --task classify --out-dir in/classes in/text in/other >/dev/null 2>&1
printf 'x,ppl\n1,2\n' >in/csv
range() { printf '"%s":{"dtype":"F32","shape":[1,64,1,1],"data_offsets":[%s]}' "$@"; }
header="{$(range q 0,256),$(range k 256,512),$(range v 512,768)}"
# shellcheck disable=SC2059 # eight bytes of length, little end first: the format is the first
{ printf "\\$(printf %o ${#header})\0\0\0\0\0\0\0"; printf %s "$header"; } >in/tensors
head -c 768 /dev/zero >>in/tensors

# Runs the cases in the file `cases`.
judged() { # PART
    "$dir/judge" <cases >said
    grep FAILED said && failed=$((failed + 1))
    echo "$1: $(tail -n 1 said)"
    cases=$((cases + $(sed -n '$s/ .*//p' said)))
}

# What a program needs besides the option, in the folder here/, and what it does then.
command() {
    case $1 in
    train) printf "$root/train\t$words\t--dry-run\t../in/text" ;;
    attend) printf "$root/attend\t--attn\tsoftmax\t../in/tensors\tout" ;;
    bench) printf "$root/bench\t--seconds\t0\t--only\tgemm" ;;
    tokenize) printf "$root/tokenize\t../in/text" ;;
    figure) printf "$root/figure\t--y\tppl\t../in/csv" ;;
    export) printf "$root/export\t../in/run\tout" ;;
    import) printf "$root/import\t../in\tout" ;;
    fill) printf "$root/fill\t../in/masked\ta ___ b" ;;
    classify) printf "$root/classify\t../in/classes\t../in/text" ;;
    gradcheck) printf "$root/gradcheck\t--elements\t1\t--attn\tretnet" ;;
    *) printf "$root/$1\t../in/run" ;;
    esac
}
programs='train eval analyse sample fill classify bench attend tokenize export import report figure gradcheck'

# "NAME PLACEHOLDER" of each option that takes a value, and "NAME -" of each that takes none.
options() {
    "$root/$1" --help | sed -n 's/^  --\(\[no-\]\)\{0,1\}\([a-z0-9-]*\) \([A-Z][A-Z]*\) .*/\2 \3/p
        s/^  --\[no-\]\([a-z0-9-]*\)  .*/\1 -/p'
}

# No number at all; numbers of another kind; numbers beyond what any option takes, or at a limit.
none='|abc|1x| 1|1 |nan|inf|-inf|1e999|1,5|--|0x10|--1|1e|٣|1\\n|\\e[31m'
other='1e3|1.5|.5|1.|+1|-0x1'
most='0|-1|1e-999|-1e-30|2147483647|2147483648|4294967296|9223372036854775807|9223372036854775808|18446744073709551615|18446744073709551616'
long=$(printf '%040d' 0 | tr 0 9)
lines() {
    for program in $programs; do
        options $program | awk -v OFS='\t' -v program=$program -v command="$(command $program)" \
            -v none="$none" -v other="$other" -v most="$most|$long" '
            function line(codes, rest) { print codes, "", "", command, rest }
            function all(codes, values, name,    n, i, value) {
                n = split(values, value, "|")
                for (i = 1; i <= n; i++) line(codes, "--" name "=" value[i])
            }
            $2 == "-" { line(2, "--" $1 "=yes"); line(2, "--no-" $1 "=1"); next }
            { line(2, "--" $1) }
            $2 == "N" { all(2, none "|" other, $1) }
            $2 == "X" { all(2, none, $1) }
            $2 == "TIME" { all(2, none, $1) }
            $2 == "NAME" { all(2, "|zzzzzz|softmaxx|NONE|\\e[0m", $1) }
            # what would be done for hours, or says nothing about a single number
            $2 == "N" && program !~ /bench|gradcheck/ && program $1 !~ /^sample(tokens|samples)$|^analyseexponent$|^train(layers|n-layer)$/ {
                all(program == "import" ? "2,5,4" : "0,2,3,5", most, $1)
            }
            $2 == "X" && program == "train" { all("0,2,5", most "|1e30|-1e30|1e-30", $1) }
            END {
                line(2, "--zzzzzz"); line(2, "--zzzzzz=1"); line(2, "-z"); line(2, "--=1")
                if (program !~ /bench|gradcheck/) line("0,2,4,5", "--"); line(2, "--\\e]0;x"); line("0,2", "--help"); line("0,2", "--version")
                line(2, "--help=1"); line("0,2,4,5", "")
            }'
        printf '0,2\t\t\t%s\n' "$root/$program${tab}help"
    done
    # together these are not what each would be
    for values in '--n-head 3' '--n-embd 6 --n-head 2' '--n-layer 0' '--block-size 0' '--block-size 1' \
        '--batch-size 0' '--threads 1000000' '--learning-rate 0' '--learning-rate nan' '--min-lr 1 --learning-rate 0.5' \
        '--warmup-iters 9 --max-iters 3' '--lr-decay-iters 1 --warmup-iters 2' '--dropout 1' '--beta1 1' '--beta2 1.5' \
        '--lengths 0' '--lengths 8,,8' '--lengths 17' '--max-time -1s' '--max-time 1x' '--save-interval x' \
        '--seed -1' '--seed 18446744073709551616' '--out-dir /' '--out-dir /dev/null' '--out-dir /dev/full/x' \
        '--val-file /dev/null' '--init ../in/text' '--init ../in' '--config ../in/csv' '--tokenizer bpe:0' \
        '--tokenizer bpe:255' '--tokenizer bpe:x' '--tokenizer bpe:99999999999' '--attn softmax:window=-1' \
        '--attn softmax:' '--attn :' '--attn ,' '--block-size 4096' '--resume' '--resume ../in/text' \
        '--preset x' '--task x' '--freeze' '--grad-clip -1' '--skip-spikes -1' '--weight-decay -1' '--momentum 2'; do
        printf '0,2,4,5\t\t\t%s\t%s\n' "$(command train)" "$(echo "$values" | tr ' ' "$tab")"
    done
    for values in '--batch-size 1000000 --block-size 65536' '--n-embd 16384 --n-layer 1000' '--batch-size 1048576 --n-embd 4096'; do
        printf '3,5\t\t\t%s\t%s\n' "$(command train)" "$(echo "$values" | tr ' ' "$tab")"
    done
    for values in '--temperature nan' '--temperature -1' '--top-p 0' '--top-p 1.5' '--top-k -1' '--prompt-file /' \
        '--prompt-file /dev/zero' '--prompt-file nowhere' '--stop' '--samples 0'; do
        printf '0,2,4,5\t\t\t%s\t%s\n' "$(command sample)${tab}--tokens${tab}3" "$(echo "$values" | tr ' ' "$tab")"
    done
    awk -v command="$root/train" 'BEGIN {
        printf "2,4\t\t\t%s", command; for (i = 0; i < 10000; i++) printf "\targ%d", i; print ""
        printf "2\t\t\t%s\t--attn=", command; for (i = 0; i < 100000; i++) printf "x"; print ""
        printf "2\t\t\t%s\t--attn=", command; for (i = 0; i < 10000; i++) printf "relu,"; print ""
    }'
}

# ROW CODES-OF-TRAIN EVAL TOKENIZE SAMPLE [FILE]: as the text of each; in/ROW is the file otherwise.
row() {
    file=${6-../in/$1}
    printf '%s\t\t\t%s\t%s\n' $2 "$root/train${tab}$words" "$file" $3 "$root/eval${tab}--lengths${tab}8${tab}../in/run" "$file" \
        $4 "$root/tokenize${tab}--check" "$file" $5 "$root/sample${tab}--tokens${tab}3${tab}../in/run${tab}--prompt-file" "$file" |
        if [ -n "$task" ]; then sed "s/$words/$words$tab--task$tab$task/"; else cat; fi
}
texts() {
    task=
    row missing 4 4 4 4
    row none 4 4 4 2 ''
    row long 4 4 4 4 "$(printf '%05000d' 0)"
    row newline 4 4 4 4 '../in/a\nb'
    row escape 4 4 4 4 '../in/\e]0;x'
    bytes 3000 >'in/a b-ü'
    row 'name' 0 0 0 0 '../in/a b-ü'
    : >in/empty
    row empty 5 5 0 0,5
    for n in 1 2 16 17; do bytes $n >in/first$n; row first$n 5 0,5 0 0; done
    bytes 169 >in/below && row below 5 0 0 0
    bytes 170 >in/least && row least 0 0 0 0
    awk 'BEGIN { for (k = 0; k < 16; k++) for (i = 0; i < 256; i++) printf "%c", i }' >in/all256 && row all256 0 0 0 0
    head -c 1000000 /dev/urandom >in/random && row random 0 0 0 0
    awk 'BEGIN { while (n++ < 500) printf "\300\200\355\240\200\377x\303" }' >in/broken && row broken 0 0 0 0
    { printf '\357\273\277'; bytes 3000; printf '\360\237'; } >in/bom && row bom 0 0 0 0
    row folder 4 4 4 4 ../in
    mkfifo in/fifo && row fifo 4 4 4 4
    row device 4 4 4 4 /dev/zero
    row random-device 4 4 4 4 /dev/random
    row terminal 4 4 4 4 /dev/ptmx
    row memory 4 4 4 4 /proc/self/mem
    row proc 0,4,5 0,4,5 0,4 0,4,5 /proc/self/status
    row standard 5 5 0,5 0,5 -
    truncate -s 4T in/huge 2>/dev/null && row huge 5 5 5 5
    awk 'BEGIN { while (n++ < 999) printf "a\r\nb\rc" }' >in/crlf && row crlf 0 0 0 0
    awk 'BEGIN { while (n++ < 3000) printf "a" }' >in/same && row same 0 0 0 0
    head -c 500000 /dev/zero | tr '\0' x >in/line && row line 0 0 0 0
    ln -s text in/link && row link 0 0 0 0
    ln -s nowhere in/dangling && row dangling 4 4 4 4
    ln -s loop in/loop && row loop 4 4 4 4
    row below-a-file 4 4 4 4 ../in/text/x
    for magic in '<!DOCTYPE html>' GGUF 'PK\003\004' '\200\002' 'version https://git-lfs' '\037\213'; do
        # shellcheck disable=SC2059
        { printf "$magic"; bytes 3000; } >"in/like$((n = n + 1))" && row like$n 0 0 0 0
    done
    row run 4 4 4 4 ../in/run
    row checkpoint 0 0 0 0 ../in/run/model.safetensors
    task=mlm
    for name in all256 broken same; do row $name 0 0 0 0; done
    task=
    for name in text all256 broken same crlf random; do
        printf '0\t\t\t%s\t%s\n' "$root/train${tab}$words${tab}--tokenizer${tab}char" "../in/$name" \
            "$root/train${tab}$words${tab}--tokenizer${tab}bpe:260" "../in/$name"
    done
}

limits() {
    for kb in 4000 6000 8000 10000 12000 14000 16000 18000 20000 22000 24000 26000 28000 30000 32000 36000 40000 48000; do
        [ -z "$SLOW" ] || break # a sanitizer takes all addresses
        printf "0,3,127\t\tas=$kb\t%s\n" "$root/train${tab}$words${tab}--threads${tab}3${tab}../in/text" \
            "$root/eval${tab}--lengths${tab}8${tab}../in/run" "$root/sample${tab}--tokens${tab}3${tab}../in/run" \
            "$root/report${tab}../in/run" "$root/tokenize${tab}../in/text" "$(command attend)" | grep -v '^0,3,127.*as=4000'
    done
    for kb in 1 2 4 8 12 16 20 24 28 32 40 48 64 96 128 192 256; do
        printf "0,4\t\tfsize=$kb\t%s\n" "$root/train${tab}$words${tab}../in/text" "$root/report${tab}../in/run" \
            "$(command export)" "$(command attend)" "$root/tokenize${tab}--json${tab}out${tab}../in/text"
    done
    for program in $programs; do
        for mask in 1 2 3 4 5 6 7; do
            printf "0,1,4,5\t\tclose=$mask\t%s\n" "$(command $program)"
            printf "2\t\tclose=$mask\t%s\t--zzzz\n" "$(command $program)"
        done
        printf "4\tNo space\tfull\t%s\n" "$root/$program${tab}--help" "$root/$program${tab}--version"
    done
    for program in eval sample tokenize figure; do printf "4\tNo space\tfull\t%s\n" "$(command $program)"; done
}

# A disk of few kilobytes, with an old run on it: that stays, or is replaced by a whole one.
disk() {
    need=$(du -sk in/run | cut -f 1)
    mount -t tmpfs -o size=64k none disk 2>/dev/null || { echo 'disk: skipped (needs mount)'; return; }
    umount disk
    kb=0 n=0 bad=0
    while [ $((kb += 16)) -le $((3 * need + 128)) ]; do
        mount -t tmpfs -o size=${kb}k none disk
        if cp -r in/run disk/run 2>/dev/null; then
            set -- "$root/train" $small --overwrite --out-dir disk/run in/text
        else
            rm -rf disk/run
            set -- "$root/train" $small --out-dir disk/run in/text
        fi
        "$@" >out 2>err
        code=$? n=$((n + 1)) wrong=
        case $code in 0 | 4) ;; *) wrong="exit $code" ;; esac
        [ $code = 0 ] || [ "$(grep -c '^attn.c: error: ' err)" = 1 ] || wrong='no error'
        [ -z "$(find disk -name '*.tmp' -o -name .lock)" ] || wrong='a temporary file'
        for file in $(find disk -name '*.safetensors'); do
            "$root/tokenize" --run $file in/text >/dev/null 2>&1 || wrong="$file is damaged"
        done
        case $* in *overwrite*) [ -e disk/run/model.safetensors ] || wrong='the old run is lost' ;; esac
        [ -z "$wrong" ] || { bad=$((bad + 1)); echo "FAILED: a disk of $kb KB: $wrong ($(tail -n 1 err))"; }
        umount disk
    done
    cases=$((cases + n)) failed=$((failed + bad))
    echo "disk: $n sizes of a disk, $bad failures"
}

# What happens to files while a run goes on.
meanwhile() {
    bad=0 n=0
    for do in 'rm -rf run' 'rm -rf run && mkdir run' 'rm -rf run && : >run' 'chmod 0 run && mv run away && mkdir run'; do
        rm -rf run away
        "$root/train" $small --max-iters 100000000 --eval-interval 100000000 --save-interval 1s --out-dir run in/text >out 2>err &
        job=$!
        while kill -0 $job 2>/dev/null && [ ! -s run/model.safetensors ]; do sleep 0.05; done
        eval "$do"
        (sleep 15; kill -KILL $job) 2>/dev/null &
        watch=$!
        wait $job
        code=$? n=$((n + 1))
        kill $watch 2>/dev/null
        [ $code = 4 ] || { bad=$((bad + 1)); echo "FAILED: $do during a run: exit $code ($(tail -n 1 err))"; }
    done
    "$root/train" $small --max-iters 400 --out-dir quiet in/text >/dev/null 2>&1
    for do in ': >moving' 'bytes 9000 >>moving' 'rm moving' 'tr a b <in/text >moving'; do
        rm -rf run
        cp in/text moving
        "$root/train" $small --max-iters 400 --log-interval 1 --out-dir run moving >out 2>err &
        job=$!
        until grep -qs '"step":1,' run/log.jsonl; do sleep 0.01; done
        eval "$do"
        wait $job
        code=$? n=$((n + 1))
        # the configuration names another file: compare what was learnt
        losses() { sed -n 's/.*"split":"val","loss":\([0-9.]*\),.*/\1/p' $1/log.jsonl; }
        [ $code = 0 ] && [ "$(losses run)" = "$(losses quiet)" ] ||
            { bad=$((bad + 1)); echo "FAILED: $do during a run: exit $code, or other losses"; }
        "$root/train" --resume --max-iters 401 run >out 2>err
        code=$? n=$((n + 1)) wanted=5
        [ "$do" != 'rm moving' ] || wanted=4
        [ $code = $wanted ] || { bad=$((bad + 1)); echo "FAILED: resumed after $do: exit $code"; }
    done
    cases=$((cases + n)) failed=$((failed + bad))
    echo "meanwhile: $n cases, $bad failures"
}

# Checkpoints that are cut, or have a bit that turned.
flips() {
    small='--n-layer 1 --n-embd 8 --n-head 1 --block-size 8 --batch-size 1 --max-iters 2 --sample-tokens 0 --threads 1'
    "$root/train" $small --out-dir flipped in/text >/dev/null 2>&1
    "$FLIPS" flipped/model.safetensors ${BITS:-100000} || failed=$((failed + 1))
}

for part in ${PARTS:-lines texts limits disk meanwhile ${FLIPS:+flips}}; do
    case $part in
    lines | texts | limits) $part >cases && judged $part ;;
    *) $part ;;
    esac
done
echo "$cases cases, $failed kinds of failures"
[ $failed = 0 ]
