# What tests/programs.sh and tests/numbers.sh share: an empty folder, the programs, what is counted, and ways to call
# a program. Read by a script that has set `root`, with LC_ALL=C.
#
#     refused SENTENCE CODE WORDS COMMAND...   within two seconds COMMAND ends with CODE and one line
#                                              on stderr that holds WORDS, and creates nothing
#     works SENTENCE CORPUS [OPTION...]        a small run succeeds and leaves a valid folder
#     check SENTENCE COMMAND...                COMMAND, often a function, is true
#
# All of it runs in an empty folder, here/, beside in/, where the corpora are, and out/. One line for each
# failure, and `N passed, M failed` at the end. Needs what POSIX and coreutils have.
# shellcheck shell=sh disable=SC2034,SC2086 # what scripts use; options are words
dir=$(mktemp -d) || exit 1
job=
trap '[ -z "$job" ] || kill -9 $job 2>/dev/null; chmod -R u+rwx "$dir"; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$dir"
mkdir "$dir/here" "$dir/in" "$dir/out"
cd "$dir/here" || exit 1

exec 3>&1 # for failures, wherever stdout goes
passed=0 failed=0
train=${root:?}/train bench=$root/bench gradcheck=$root/gradcheck attend=$root/attend
tokenize=$root/tokenize report=$root/report evaluate=$root/eval sample=$root/sample
export=$root/export import=$root/import analyse=$root/analyse figure=$root/figure fill=$root/fill
classify=$root/classify
escape=$(printf '\033') newline='
'
turned=$(printf '\342\200\256') isolated=$(printf '\342\201\246') c1=$(printf '\302\233')
small='--n-layer 1 --n-embd 16 --n-head 2 --block-size 16 --batch-size 2 --max-iters 3
       --sample-tokens 20 --threads 1'
steps="$small --max-iters 10 --eval-interval 4 --eval-iters 1 --log-interval 1"
labels="$small --task classify --labels"
images='--n-layer 1 --n-embd 8 --n-head 1 --batch-size 1 --max-iters 2 --threads 1 --task image'
tiny='--n-layer 1 --n-embd 16 --n-head 2 --batch-size 2 --seconds 0 --threads 1'

patience='timeout 60' # ends what hangs: how long a thing takes, no test here is about
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); printf 'FAILED: %s' "$*" | tr '\n\033' '??' >&3; echo >&3; }
skip() { echo "skipped: $*"; }
check() {
    sentence=$1 why=
    shift
    if "$@"; then pass; else fail "$sentence: ${why:-$*}"; fi
}
no() { why=$*; false; }
finish() { # the last line of a script, and whether all is well
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
}

# --- what goes wrong ---------------------------------------------------------------------------

# Sets `line` to what was said and `wrong` to what is not as it should be about it.
judge() { # CODE WANTED WORDS
    wrong=
    IFS= read -r line <"$dir/err"
    lines=$(wc -l <"$dir/err")
    case $1 in "$2") ;; 124) wrong='takes too long;' ;; *) wrong="exit $1, not $2;" ;; esac
    case $line in 'attn.c: error: '*) ;; *) wrong="$wrong no error line;" ;; esac
    case $line in *"$3"*) ;; *) wrong="$wrong does not say '$3';" ;; esac
    case $line in *[[:cntrl:]]*) wrong="$wrong control characters;" ;; esac
    [ ${#line} -lt 400 ] || wrong="$wrong ${#line} bytes and a newline;"
    [ $((lines)) -eq 1 ] || wrong="$wrong $((lines)) lines;"
    [ ! -s "$dir/stdout" ] || wrong="$wrong something on stdout;"
    set -- * .[!.]*
    [ "$*" = '* .[!.]*' ] || { wrong="$wrong created $*;"; rm -rf "$dir/here/"*; }
}

limit='timeout 2'
refused() {
    sentence=$1 code=$2 words=${3:?}
    shift 3
    (
        ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # who refuses frees nothing
        export ASAN_OPTIONS
        case $(command -v "$1") in */*) $limit "$@" ;; *) "$@" ;; esac # a function of ours has no path
    ) >"$dir/stdout" 2>"$dir/err"
    judge $? "$code" "$words"
    if [ -z "$wrong" ]; then pass; else fail "$sentence: $wrong ($line)"; fi
}
unread() { # COMMAND...: it succeeds, into a pipe that nobody reads any more
    { (sleep 0.2; "$@" 2>/dev/null; echo $? >"$dir/code") | true; }
    [ "$(cat "$dir/code")" -eq 0 ] || no "exit $(cat "$dir/code")"
}

# --- files ---------------------------------------------------------------------------------------

bytes() { head -c "$1" "$root/ops/kernel/gemm.c" >"../in/$2"; }
text=../in/text
range() { printf '"%s":{"dtype":"F32","shape":[1,64,1,1],"data_offsets":[%s]}' "$@"; }
tensors_head() { # of q, k and v, for 64 numbers each
    header="{$(range q 0,256),$(range k 256,512),$(range v 512,768)}"
    # shellcheck disable=SC2059 # eight bytes of length, little end first: the format is the first
    printf "\\$(printf %o ${#header})\0\0\0\0\0\0\0"
    printf %s "$header"
}
films() { printf 'good\ta fine film\nbad\ta poor film\ngood\tfine, and long\nbad\tpoor, and short\n'; } # with labels
image() { # CLASS: an image of CIFAR-10 in one colour
    # shellcheck disable=SC2059 # the class is the format
    printf "\\$(printf %03o "$1")" && head -c 3072 /dev/zero | tr '\0' "$1"
}
column() { # NAME FILE: of the CSV's first row
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }' "$2"
}
lines() { [ "$(wc -l <"$2")" -eq "$1" ] || no "$(wc -l <"$2") lines in $2"; }
differ() { ! cmp -s "$1" "$2"; }

# --- a valid run ---------------------------------------------------------------------------------

log_is_valid() {
    [ -s "$1/log.jsonl" ] || no 'no log' || return
    [ "$(grep -cv -e '^{"step":[0-9]*,"split":"[a-z]*","loss":[^{}]*,"time":"[0-9T:.-]*Z"[^{}]*}$' \
        -e '^{"step":[0-9]*,"split":"start","time":"[0-9T:.-]*Z","run":{.*}}$' "$1/log.jsonl")" = 0 ] ||
        no 'a line of the log is no object' || return
    [ -z "$(tail -c 1 "$1/log.jsonl")" ] || no 'the log ends within a line'
}

# Eight bytes of length, little end first; so much JSON; and numbers to where the last offset says.
safetensors_is_valid() {
    # shellcheck disable=SC2046 # nine numbers
    set -- "$1" $(od -An -tu1 -N8 "$1") $(wc -c <"$1")
    [ $# = 10 ] && [ "$5$6$7$8$9" = 00000 ] || no "$1 has no header" || return
    header=$(($2 + 256 * $3 + 65536 * $4))
    end=$(head -c $((8 + header)) "$1" | tail -c +9 | tr '"' '\n' |
        sed -n 's/^:\[[0-9]*,\([0-9]*\)\]}.*/\1/p' | sort -n | tail -n 1)
    [ "$(tail -c +9 "$1" | head -c 1)" = '{' ] || no "$1 does not begin with an object" || return
    [ $((8 + header + ${end:-0})) = "${10}" ] || no "$1: 8 + $header + $end bytes are not ${10}"
}

# Of a run that was stopped before it was evaluated, $2 says so, there is no best.
folder_is_valid() {
    for file in model.safetensors ${2:-best.safetensors} log.jsonl config.json tokenizer.json loss.svg; do
        [ -s "$1/$file" ] || no "$file is missing" || return
    done
    [ "$(find "$1" ! -type d | wc -l)" -le 7 ] || no "more than seven files in $1" || return
    [ ! -e "$1/previous.safetensors" ] || safetensors_is_valid "$1/previous.safetensors" || return
    log_is_valid "$1" && safetensors_is_valid "$1/model.safetensors" || return
    [ $# -gt 1 ] || safetensors_is_valid "$1/best.safetensors" || return
    case $(cat "$1/config.json") in
    '{'*'"attn": "'*'"n_embd": '[0-9]*'"seed": '[0-9]*'}') ;;
    *) no 'config.json does not hold the configuration' || return ;;
    esac
    case $(cat "$1/loss.svg") in *'<svg'*'</svg>') ;; *) no 'loss.svg is no picture' ;; esac
}

count=0
works() { # the run's folder is $run, what it said is in $dir/stdout and $dir/err
    sentence=$1 count=$((count + 1)) why=
    run=../out/$count
    shift
    $patience "$train" $small --out-dir "$run" "$@" >"$dir/stdout" 2>"$dir/err"
    code=$?
    if [ $code = 0 ] && folder_is_valid "$run"; then
        pass
    else
        fail "$sentence: exit $code, ${why:-$(tail -n 1 "$dir/err")}"
    fi
}

# A run of that many updates in a folder of its own, whatever was there, with the exit code that is
# wanted.
part() { # CODE FOLDER OPTION...
    code=$1 folder=$2
    shift 2
    case " $* " in *' --resume '*) ;; *) set -- --overwrite "$@" ;; esac
    $patience "$train" --out-dir "../out/$folder" "$@" >"$dir/stdout" 2>"$dir/err"
    [ $? -eq "$code" ] || no "not $code: $(tail -n 1 "$dir/err")"
}

# --- programs, and what they say -------------------------------------------------------------------

said() { grep -q "$1" "$dir/err" || no "$(cat "$dir/err")"; }
says() { grep -q "$1" "$dir/stdout" || no "$(cat "$dir/stdout")"; }
tell() { grep -q -- "$1" "$dir/err" || no "$(cat "$dir/err")"; }
quiet() { ! grep -q warning "$dir/err" || no "$(cat "$dir/err")"; }
helps() { # OPTION WORDS [PROGRAM]: its help of the option holds the words
    "${3:-$train}" help "$1" | tr -s ' \n' ' ' | grep -qF -e "$2" || no "$("${3:-$train}" help "$1")"
}
table() { # LENGTHS, then how to call it: a header, and a row for each
    rows=$1
    shift
    $patience "$evaluate" "$@" >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")" || return
    [ "$(wc -l <"$dir/stdout")" -eq $((rows + 1)) ] || no "$(wc -l <"$dir/stdout") lines"
}
analyses() { $patience "$analyse" "$@" >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")"; }
samples() { $patience "$sample" --tokens 30 "$@" >"$dir/stdout" 2>"$dir/err" || no "$(cat "$dir/err")"; }
fills() { $patience "$fill" "$@" >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")"; }
classifies() { $patience "$classify" "$@" >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")"; }
found() { cut -f 2 ../in/labels.tsv | $patience "$classify" --lines "$@" ../out/by-heart 2>/dev/null; }
benches() { $patience "$bench" $tiny --csv ../out/csv "$@" >"$dir/stdout" 2>"$dir/err"; }
saved=../out/saved
was() { # N: the saved times, N times as long
    awk -v n="$1" '/^step/ {
            at = index($0, "\",") + 2; rest = substr($0, at); comma = index(rest, ",")
            printf "%s%.9g%s\n", substr($0, 1, at - 1), rest * n, substr(rest, comma); next }
        { print }' $saved >../out/before
}
against() { # CODE OPTION...
    code=$1
    shift
    $patience "$bench" --against ../out/before "$@" >"$dir/stdout" 2>"$dir/err"
    [ $? = "$code" ]
}
alive() { kill -0 $job 2>/dev/null; }
soon() { # CODE [SECONDS]: the job ends with it
    (sleep "${2:-2}"; kill -9 $job) >/dev/null 2>&1 3>&- &
    watch=$!
    wait $job 2>/dev/null
    code=$?
    job=
    kill -9 $watch 2>/dev/null # what TERM would run are our own traps
    wait $watch 2>/dev/null
    [ $code = "$1" ] || no "exit $code"
}
