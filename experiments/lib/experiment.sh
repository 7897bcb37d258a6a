# How an experiment is run. Its run.sh goes to the project's root, sets `name`, reads this file,
# says what is its own, and ends with `experiment "$@"`:
#
#     plan   a line for each series:  TEXT RATES LENGTHS --task T --attn A [OPTION...]
#     also   optional: keeps more of the run in folder $1 with options $2, before its rows are written
#     page   figures, tables and verdicts, with what page.sh has
#
# A series is one mechanism in one setting. Each of its RATES (0.004,0.008) is tried with seed 1;
# the one with the lowest loss at the first of LENGTHS gets the other seeds as well. A single rate
# is that of all seeds, and `c03` is the one that this task and mechanism have got there. A run
# becomes a row for each of LENGTHS.
#
# The rows of a run are known by its text and its options. A run whose rows are there is not run
# again; rows of what is not in the plan stay in the file, and are not looked at.
#
# What the environment says, with folders as seen from the root:
#
#     DATA=texts       the folder with the texts
#     JOBS=2           so many runs at once, of one thread each; one for each processor unless told
#     PART=1/4         of the series every fourth, from the first on: for several machines
#     QUICK=1          a smoke run: tiny models, any text, one seed; results go to build/quick
#     KEEP=folder      keeps the runs, with their weights, there
#     OUT=experiments  where the folders with the results are
#     TIMES=file       how long steps take, measured where it does not say
#
# shellcheck shell=sh disable=SC2154 # name is run.sh's
LC_ALL=C
export LC_ALL
unset CDPATH
JOBS=${JOBS:-$(getconf _NPROCESSORS_ONLN)} PART=${PART:-1/1} QUICK=${QUICK:-} KEEP=${KEEP:-}
OUT=${OUT:-$([ -z "$QUICK" ] && echo experiments || echo build/quick)}
folder=$OUT/$name results=$OUT/$name/results.csv

stop() {
    printf '%s: %s\n' "$name" "$*" >&2
    exit 1
}
full() { # FULL SMALL: the first, or with QUICK the second
    if [ -z "$QUICK" ]; then echo "$1"; else echo "$2"; fi
}

. experiments/lib/settings.sh
. experiments/lib/texts.sh
. experiments/lib/rows.sh
. experiments/lib/runs.sh
. experiments/lib/page.sh

# --- jobs ----------------------------------------------------------------------------------------

# FUNCTION LINE for every line of the file, JOBS at once: whoever is free takes the next. What fails
# keeps the others from beginning anything new. No pipe may lead here: a signal would wait for it.
at_once() { # FUNCTION FILE
    jobs='' job=0
    while [ $((job += 1)) -le "$JOBS" ]; do
        worker "$1" "$2" &
        jobs="$jobs $!"
    done
    for job in $jobs; do
        wait "$job" || : >"$work/failed"
    done
    jobs=
    [ ! -e "$work/failed" ]
}

worker() { # FUNCTION FILE
    trap '[ -z "$child" ] || { kill $child; wait $child; }; exit 1' HUP PIPE TERM
    child='' number=0
    while IFS= read -r line <&3; do
        mkdir "$work/$1.$((number += 1))" 2>/dev/null || continue
        "$1" "$line" || : >"$work/failed"
        may_go_on || exit
    done 3<"$2"
}
may_go_on() { [ ! -e "$work/failed" ] && kill -0 $$ 2>/dev/null; } # $$ has started the workers

# A signal to this shell ends the command as well.
patiently() {
    "$@" &
    child=$!
    status=0
    wait "$child" || status=$?
    child=
    return $status
}

# --- the plan ------------------------------------------------------------------------------------

# A function with what a line of the plan has: TEXT RATES LENGTHS SETTINGS.
with() { # FUNCTION LINE
    # shellcheck disable=SC2086 # the line is words
    set -- "$1" $2
    function=$1 its_text=$2 its_rates=$3 its_lengths=$4
    shift 4
    "$function" "$its_text" "$its_rates" "$its_lengths" "$*"
}

my_plan() { plan | awk -v part="${PART%/*}" -v parts="${PART#*/}" 'NR % parts == part % parts'; }

run_series() { with run_all "$1"; }

run_all() { # TEXT RATES LENGTHS SETTINGS
    while next=$(runs_of "$@" | first_missing "$1" "$3") && [ -n "$next" ]; do
        case $next in *'?'*)
            echo "$name: no learning rate is known yet for $4: c03-perplexity comes first" >&2
            return ;;
        esac
        run "$1" "$3" "$next" || return
        may_go_on || return
    done
}

# --- how long it takes ---------------------------------------------------------------------------

# Milliseconds of a step, measured on some text, in the middle of five steps.
time_step() { # SETTINGS
    run=$work/time.$(echo "$1" | cksum | tr ' ' .)
    # shellcheck disable=SC2086 # settings are words
    patiently ./train $1 --max-iters 5 --sample-tokens 0 --threads 1 --val-file "$work/sample" \
        --out-dir "$run" "$work/sample" >"$run.out" 2>"$run.err" || { cat "$run.err" >&2; return 1; }
    echo "$(sed -n 's/.*(median \([0-9.]*\) ms).*/\1/p' "$run.out") $1" >>"$TIMES"
    rm -rf "$run" "$run.out" "$run.err"
}

time_steps() {
    cat ops/*.c | head -c 65536 >"$work/sample"
    touch "$TIMES"
    my_plan | cut -d' ' -f 4- | sort -u |
        awk 'FILENAME != "-" { known[substr($0, index($0, " ") + 1)]; next } !($0 in known)' "$TIMES" - \
            >"$work/unknown"
    at_once time_step "$work/unknown"
}

# For each series with runs to do: seconds, runs, tokens, and its line of the plan.
costs() {
    my_plan | while IFS= read -r line; do
        with cost "$line"
    done
}

# Forward alone is a third of a step; ./train reads what is held back once, ./eval at each length.
cost() { # TEXT RATES LENGTHS SETTINGS
    todo=$(runs_of "$@" | all_missing "$1" "$3" | wc -l)
    [ "$todo" -gt 0 ] || return 0
    # shellcheck disable=SC2086 # settings are words
    awk -v runs="$todo" -v line="$*" -v wanted="$4" -v steps="$(value --max-iters $4)" \
        -v batch="$(($(value --batch-size $4) * $(value --block-size $4)))" \
        -v reads="$(($(echo "$3" | tr , '\n' | wc -l) + 1))" -v bytes="$(held_back "$1")" '
        substr($0, index($0, " ") + 1) == wanted { step = $1 / 1000 }
        END { print int(runs * (1 + steps * step + reads * bytes / batch * step / 3) + 0.5),
                    runs, runs * steps * batch, line }' "$TIMES"
}

summary() { # of the lines of costs
    awk -v name="$name" -v jobs="$JOBS" '
        { seconds += $1; runs += $2; tokens += $3 }
        END {
            minutes = int(seconds / jobs / 60 + 1)
            printf "%s: %d runs, %.1f M tokens, about %d h %02d min on this machine, %d at once\n",
                   name, runs, tokens / 1e6, minutes / 60, minutes % 60, jobs
        }'
}

# --- all of it -----------------------------------------------------------------------------------

# Jobs end with the shell, and then there is nobody left who could hold its lock.
end() {
    # shellcheck disable=SC2086 # numbers
    [ -z "$jobs" ] || { kill $jobs; wait; } 2>/dev/null
    [ "$(readlink "$results.lock")" != "$me" ] || rm -f "$results.new" "$results.lock"
    rm -rf "$work"
}

begin() {
    for program in train eval figure analyse; do
        [ -x ./$program ] || stop "there is no ./$program: make builds it"
    done
    work=$(mktemp -d) || exit 1
    jobs='' me=$$@$(uname -n)
    trap end EXIT
    trap 'exit 130' HUP INT PIPE TERM
    TIMES=${TIMES:-$work/times}
    commit=$(commit)
}

experiment() { # what is asked for, or nothing for the runs and the page
    begin
    case ${1:-} in
    '') open_all && time_steps && run_missing && make_page || exit 1 ;;
    --estimate) open_all && time_steps && costs | summary || exit 1 ;;
    --join) shift && join "$@" && make_page ;;
    --chosen) chosen_rows ;;
    *) stop "takes --estimate (how long the runs will take), --join RESULTS.csv... (the rows of" \
        "other machines), --chosen (prints the rows of the page), or nothing" ;;
    esac
}

open_all() { open_texts "$(plan | cut -d' ' -f 1 | sort -u)"; }

run_missing() {
    mkdir -p "$folder"
    costs | sort -rn >"$work/costs" # the longest first, so that nobody waits for it at the end
    summary <"$work/costs"
    cut -d' ' -f 4- "$work/costs" >"$work/series"
    at_once run_series "$work/series"
}

join() { # RESULTS.csv...
    for file; do
        tail -n +2 "$file" >"$work/rows" || return
        [ ! -s "$work/rows" ] || add_rows "$work/rows"
    done
}
