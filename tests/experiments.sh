#!/bin/sh
# What the experiments promise, on a small one: every row once, whatever happens meanwhile, and the
# same numbers again.
#
#     check SENTENCE COMMAND...    COMMAND, often a function from here, is true
#
# It runs in an empty folder with links to the programs and to the scripts of experiments/. One line
# for each failure, and `N passed, M failed` at the end.
LC_ALL=C
export LC_ALL
unset CDPATH DATA JOBS PART QUICK KEEP OUT MAKEFLAGS MFLAGS MAKELEVEL
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$dir/experiments/small" "$dir/experiments/look" "$dir/experiments/floor" "$dir/tmp"
cd "$dir" || exit 1
for name in train eval figure model tests README.md; do
    ln -s "$root/$name" "$name"
done
for name in Makefile run page again texts runs.awk rows.awk estimate.awk verdict.awk; do
    cp "$root/experiments/$name" "experiments/$name"
done
TMPDIR=$dir/tmp QUICK=1
export TMPDIR QUICK

passed=0 failed=0
check() {
    sentence=$1
    shift
    if "$@" >"$dir/said" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED: $sentence"
        tail -n 3 "$dir/said"
    fi
}

# Three series: one with three rates, of which the first is too small to learn from and the last so
# large that the run diverges; two seeds.
cat >experiments/small/plan.mk <<'END'
lengths = 16,32
seeds   = 2
tried   = 0.00001,0.01,1e30
size    = --n-layer 1 --n-embd 16 --n-head 2 --block-size 16 --batch-size 4 --max-iters 20
plan    = $(call series,wikitext-2,$(tried),--task causal --attn softmax $(size) --optimizer adamw --grad-clip 0) \
          $(call series,war-and-peace,0.01,--task mlm --attn relu $(size)) \
          $(call series,war-and-peace,0.01,--task causal --attn elu $(size) $(odd))
END
printf '%s\n' '# Small' '<!-- made by' 'table --by task,attn --x length --y loss' '-->' 'old' \
    '<!-- end -->' 'the rest' >experiments/small/README.md
# One run on the built-in stories, whose evaluation takes longest.
cat >experiments/floor/plan.mk <<'END'
lengths = 16
seeds   = 1
plan    = $(call series,stories,0.01,--task causal --attn elu --n-layer 1 --n-embd 16 --n-head 2 \
              --block-size 16 --batch-size 4 --max-iters 5)
END
echo '# Floor' >experiments/floor/README.md
# Another without lengths, whose rows do not have their options.
cat >experiments/look/plan.mk <<'END'
columns = attn,task,parameters,accuracy,guessing,most_frequent
order   = $(append)
plan    = $(call series,synthetic,,--task mqar --attn relu --n-layer 1 --n-embd 16 --n-head 1 \
              --block-size 32 --symbols 64 --items 2 --max-iters 3)
END
echo '# Look' >experiments/look/README.md
small() { make -f experiments/Makefile small "$@"; }

fails_with() { # WORDS COMMAND...
    words=$1
    shift
    ! "$@" >"$dir/out" 2>&1 && grep -q "$words" "$dir/out"
}
# --- whole, resumed, cut ---------------------------------------------------------------------

small JOBS=1 OUT=whole >"$dir/log" 2>&1
rows=whole/small/results.csv
quote='"'
rows_are() { [ "$(wc -l <$rows)" -eq 17 ]; } # a header, (3 + 1) x 2, 2 x 2 and 2 x 2
nothing_left() { [ -z "$(ls "$TMPDIR")" ] && [ -z "$(find . -path '*/rows/*' -type d -o -name '*.csv.*')" ]; }
best_goes_on() { grep -q "wikitext-2,.*,0.01,2,.*$quote\$" $rows && ! grep -q 'wikitext-2,.*,0.00001,2,' $rows; }
diverged() { [ "$(grep -c ',1e30,1,.*,inf,inf,' $rows)" -eq 2 ] && ! grep -q ',1e30,2,' $rows; }
floor_is() {
    make -f experiments/Makefile floor OUT=whole && awk -F , 'NR > 1 && $17 > 0 { n++ } END { exit n != 1 }' \
        whole/floor/results.csv && awk -F , 'NR > 1 && $17 != "" { exit 1 }' $rows
}
page_is() {
    grep -q '^| causal softmax | .* ± ' whole/small/README.md && ! grep -q old whole/small/README.md &&
        [ "$(tail -n 1 whole/small/README.md)" = 'the rest' ]
}
check 'every run has a row for each length' rows_are
check 'nothing is left behind' nothing_left
check 'the best rate of the first seed is that of the second' best_goes_on
check 'a run that diverges has an infinite loss and no second seed' diverged
check 'only a text whose entropy is known has a distance from it' floor_is
check 'the page has the means in place of what was there' page_is

same_as_whole() { cmp $rows "$1/small/results.csv"; }
does_nothing() {
    cp $rows before && [ "$(small OUT=whole)" = 'whole/small/README.md is made' ] && cmp before $rows
}
estimates() { # three kinds of runs, each with its milliseconds
    make -f experiments/Makefile estimate CLAIMS=small OUT=none >estimate &&
        grep -q '^all: 8 runs, 0.0 M tokens, about' estimate &&
        [ "$(cat build/steps/*.ms | grep -c '^[0-9.]*$')" -eq 3 ] && [ ! -e none ]
}
at_once() { small JOBS=3 OUT=three && same_as_whole three; }
only() { # OUT AWK-CONDITION: those of the rows
    mkdir -p "$1/small" && awk -F , "$2" $rows >"$1/small/results.csv"
}
gone_missing() { # the rows of a run, and one of the two of another
    only part '!($7 == 2 && ($2 == "mlm" || $3 == "elu" && $11 == 32))'
    small OUT=part && same_as_whole part && [ "$(ls part/small/rows/*.csv | wc -l)" -eq 2 ]
}
runs_to_do() { # OUT: with --dry-run
    make -nf experiments/Makefile experiment=small "OUT=$1" runs | grep -c '^experiments/run'
}
rate_is_open() { # a rate of seed 1 is missing, and so are all runs of seed 2
    only open '$1 != "wikitext-2" || $6 == "0.01" && $7 == 1 || $6 == "1e30"'
    [ "$(runs_to_do open)" -eq 1 ]
}
rate_is_known() {
    only known '$1 != "wikitext-2" || $7 == 1'
    [ "$(runs_to_do known)" -eq 1 ] &&
        make -nf experiments/Makefile experiment=small OUT=known runs | grep -q 'learning-rate 0.01 --seed 2$'
}
check 'what is there is not run again' does_nothing
check 'an estimate times a step of each kind and runs nothing' estimates
check 'three at once find the same' at_once
check 'rows that are missing are made again, and no others' gone_missing
check 'no seed is begun before the best rate is known' rate_is_open
check 'the best rate is known when all are tried' rate_is_known

# Ends the run when the first row is there, not before.
interrupt() { # SIGNAL
    rm -rf cut
    make -f experiments/Makefile small JOBS=2 OUT=cut >/dev/null 2>&1 &
    pid=$!
    tries=0
    until ls cut/small/rows/*.csv >/dev/null 2>&1 || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done
    kill -s "$1" $pid
    wait $pid
    pid=
    ps -A -o args= >processes
    ! grep -q '^./train .*cut/small' processes && ! [ -e cut/small/results.csv ] && nothing_left
}
goes_on() { small OUT=cut && same_as_whole cut; }
check 'a run that is stopped leaves whole rows and no process' interrupt TERM
check 'it goes on to the same rows' goes_on

parts() {
    for part in 1 2 3; do
        small PART=$part/3 OUT=part$part KEEP=kept || return
    done
    ! cmp $rows part1/small/results.csv && ! [ -e part1/small/README.md ] &&
        cat part2/small/results.csv part3/small/results.csv >>part1/small/results.csv &&
        small OUT=part1 && same_as_whole part1 && [ -e part1/small/README.md ]
}
kept() { [ "$(ls kept/*/model.safetensors | wc -l)" -eq 7 ]; } # all but the one that diverged
together() { # in one folder, at once
    small PART=1/2 OUT=both &
    small PART=2/2 OUT=both
    wait $! && small OUT=both && same_as_whole both
}
check 'three parts that are joined are the whole' parts
check 'their weights are where KEEP says' kept
check 'two parts side by side in one folder are the whole' together

look() {
    make -f experiments/Makefile look OUT=first && make -f experiments/Makefile look OUT=first &&
        [ "$(wc -l <first/look/results.csv)" -eq 2 ] &&
        grep -q '^relu,mqar,[0-9]*,[0-9.]*,3.1,[0-9.]*$' first/look/results.csv
}
check 'without lengths a run has one row, of what it found itself' look

# --- again -----------------------------------------------------------------------------------

again() { ./experiments/again "$1" "$2"; }
is_the_same() { for line in 2 6 10 13 17; do again $rows $line || return; done; }
changed() { # the last digit of the loss
    awk -F , -v OFS=, 'NR == 6 { sub(/.$/, ($12 ~ /1$/ ? "2" : "1"), $12) } { print }' $rows >changed.csv
    ! again changed.csv 6 && tail -n 1 "$dir/said" | grep -q '^not the same'
}
check 'a row comes out the same again' is_the_same
check 'a changed digit is found' changed
check 'the header is no run' fails_with 'is not a run' again $rows 1

# --- what goes wrong ---------------------------------------------------------------------------

odd() { small odd=--no-such-option OUT=odd; }
without_text() { small QUICK= OUT=none DATA="$dir/nowhere"; }
other_text() {
    mkdir -p other
    for name in wikitext2-a wikitext2-b warandpeace; do echo another >other/$name.txt; done
    small QUICK= OUT=none DATA=other
}
check 'an error of a run ends the experiment and is shown' fails_with 'unknown option' odd
check 'a text that is missing is named, and what it is' fails_with 'nowhere/.*bytes' without_text
check 'another text of the same name is refused' fails_with 'is not the text' other_text
check 'nothing is made then' eval '[ -z "$(find none -type f)" ] && nothing_left'

# --- verdicts --------------------------------------------------------------------------------

{
    echo attn,seed,length,n,mean,sd,min,max
    for cell in a,1,64,1,1.97 a,2,64,1,2.03 a,3,64,1,2.0 b,1,64,1,2.16 b,2,64,1,2.24 b,3,64,1,2.2 \
        c,1,64,1,9.0 d,1,64,1,2.0 d,2,64,1,inf d,3,64,1,2.0 e,1,64,1,2 e,2,64,1,2 e,4,64,1,2; do
        echo "$cell,,1,3"
    done
} >cells.csv
says() { # WORDS STATEMENT...: margin of b - a is 2 sqrt(0.00125) sqrt(2) = 0.1
    words=$1
    shift
    printf '%s\n' "$@" | awk -v claim=C0 -v seeds=3 -f experiments/verdict.awk cells.csv - >verdict
    grep -q -F "$words" verdict
}
check 'what is above its margin holds' says '**C0: reproduced.** b is worse: 0.2000 ± 0.1000' \
    'b is worse: b/64 - a/64'
check 'what is below is contrary' says '**C0: not reproduced.**' 'a is worse: a/64 - b/64' 'one: 1'
check 'what is between is open' says '**C0: undecided.**' 'by more: b/64 - a/64 - 0.11' 'one: 1'
check 'one contrary statement decides' says '**C0: not reproduced.**' 'by more: b/64 - a/64 - 0.11' 'no: - 1'
check 'weights and constants count' says 'middle: 0.1000 ± 0.0500' 'middle: b/64 - 1/2 a/64 - 1/2 b/64'
check 'the margin grows with the weights' says 'twice: 0.3000 ± 0.2000' 'twice: 2 b/64 - 2 a/64 - 0.1'
check 'what is in brackets does not count' says '**C0: reproduced.** one: 1' 'one: 1' '(no: a/64 - b/64)'
check 'too few seeds decide nothing' says '**C0: undecided.**' 'c is worse: c/64 - a/64'
check 'what diverged decides nothing' says '**C0: undecided.**' 'd is worse: d/64 - a/64'
check 'each seed has its own sum, if all cells have the seed' says '| 0.2000 | 0.0800 | 0.1600 0.2400 | holds |' \
    'by some: b/64 - e/64'
check 'a cell that is not there is an error' eval '! says x "f: f/64" && [ ! -s verdict ]'

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
