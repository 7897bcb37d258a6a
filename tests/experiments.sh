#!/bin/sh
# What the experiments promise whoever runs them, on a small one: every row once, whatever happens
# meanwhile, and the same numbers again.
#
#     check SENTENCE COMMAND...    COMMAND, often a function from here, is true
#
# It is made in an empty folder that has the programs and experiments/lib, with links. One line for
# each failure, and `N passed, M failed` at the end.
LC_ALL=C
export LC_ALL
unset CDPATH DATA JOBS PART QUICK KEEP OUT TIMES
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$dir/experiments/small" "$dir/tmp"
cd "$dir" || exit 1
for name in train eval figure analyse ops model tests experiments/lib experiments/again; do
    ln -s "$root/$name" "$name"
done
rm experiments/again # it finds the project by where it is
cp "$root/experiments/again" experiments/again
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

# Two tasks, one with three rates, of which the first is too small to learn from and the last so
# large that the run diverges; two seeds.
cat >experiments/small/run.sh <<'END'
#!/bin/sh
cd "$(dirname "$0")/../.." || exit 1
name=small
. experiments/lib/experiment.sh
seeds=2
size="--n-layer 1 --n-embd 16 --n-head 2 --block-size 16 --batch-size 4 --max-iters 20"
plan() {
    echo "wikitext-2 0.00001,0.01,1e30 16,32 --task causal --attn softmax $size --optimizer adamw --grad-clip 0"
    echo "war-and-peace 0.01 16 --task mlm --attn relu $size"
    echo "stories 0.01 16 --task causal --attn elu $size ${odd:-}"
}
page() { table --by task,attn --x length --y loss | part losses; }
experiment "$@"
END
printf '%s\n' '# Small' '<!-- losses: made -->' 'old' '<!-- end -->' 'the rest' >experiments/small/README.md
chmod +x experiments/small/run.sh
small() { ./experiments/small/run.sh "$@"; }

fails_with() { # WORDS COMMAND...
    words=$1
    shift
    ! "$@" >"$dir/out" 2>&1 && grep -q "$words" "$dir/out"
}
# --- whole, resumed, cut ---------------------------------------------------------------------

JOBS=1 OUT=whole small >"$dir/log" 2>&1
rows=whole/small/results.csv
quote='"'
rows_are() { [ "$(wc -l <$rows)" -eq 13 ]; } # a header, (3 + 1) x 2, 2 and 2
nothing_left() { [ -z "$(ls "$TMPDIR")" ] && [ -z "$(find . -name '*.lock' -o -name '*.new')" ]; }
best_goes_on() { grep -q "wikitext-2,.*,0.01,2,.*$quote\$" $rows && ! grep -q 'wikitext-2,.*,1e-05,2,' $rows; }
diverged() { [ "$(grep -c ',1e30,1,.*,inf,inf,' $rows)" -eq 2 ] && ! grep -q ',1e30,2,' $rows; }
floor_is() { awk -F , 'NR > 1 && ($1 == "stories") != ($17 > 0) { exit 1 }' $rows; }
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
    cp $rows before && OUT=whole small | grep -q '^small: 0 runs' && cmp before $rows
}
estimates() { # three kinds of runs, each with its milliseconds
    OUT=none TIMES=$dir/times small --estimate | grep -q '^small: 8 runs, 0.0 M tokens, about' &&
        [ "$(grep -c '^[0-9.]* --task' times)" -eq 3 ] && [ ! -e none ]
}
at_once() { JOBS=3 OUT=three small && same_as_whole three; }
gone_missing() { # the rows of a run, and one of the two of another
    mkdir -p part/small
    awk -F , '$7 != 2 || $2 != "mlm" && $11 != 32' $rows >part/small/results.csv
    OUT=part small && same_as_whole part
}
best_is() { # RATE OF-HOW-MANY
    [ "$(name=small && . experiments/lib/experiment.sh &&
        best_rate $rows wikitext-2 16 '--task causal --attn softmax' "$2")" = "$1" ]
}
check 'the best rate is known when all are tried' best_is 0.01 3
check 'it is not known before' best_is '' 4
check 'what is there is not run again' does_nothing
check 'an estimate times a step of each kind and runs nothing' estimates
check 'three at once find the same' at_once
check 'rows that are missing are made again, and no others' gone_missing

# Ends the run when the first row is there, not before.
interrupt() { # SIGNAL
    rm -rf cut
    JOBS=2 OUT=cut ./experiments/small/run.sh >/dev/null 2>&1 &
    pid=$!
    tries=0
    until [ -s cut/small/results.csv ] || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done
    kill -s "$1" $pid
    wait $pid
    pid=
    ps -A -o args= >processes
    ! grep -q "^./train .*$TMPDIR" processes && [ "$(wc -l <cut/small/results.csv)" -lt 13 ] && nothing_left
}
goes_on() { OUT='cut' small && same_as_whole cut; }
check 'a run that is stopped leaves whole rows and no process' interrupt TERM
check 'it goes on to the same rows' goes_on

parts() {
    for part in 1 2 3; do
        PART=$part/3 OUT=part$part small || return
    done
    ! cmp $rows part1/small/results.csv && ! [ -e part1/small/README.md ] &&
        OUT=part1 small --join part2/small/results.csv part3/small/results.csv &&
        same_as_whole part1 && [ -e part1/small/README.md ]
}
together() { # in one folder, at once
    PART=1/2 OUT=both small & PART=2/2 OUT=both small
    wait $! && same_as_whole both
}
check 'three parts that are joined are the whole' parts
check 'two parts side by side in one folder are the whole' together

# --- again -----------------------------------------------------------------------------------

again() { ./experiments/again "$1" "$2"; }
is_the_same() { for line in 2 6 9 10 13; do again $rows $line || return; done; }
changed() { # the last digit of the loss
    awk -F , -v OFS=, 'NR == 6 { sub(/.$/, ($12 ~ /1$/ ? "2" : "1"), $12) } { print }' $rows >changed.csv
    ! again changed.csv 6 && tail -n 1 "$dir/said" | grep -q '^not the same'
}
check 'a row comes out the same again' is_the_same
check 'a changed digit is found' changed
check 'the header is no run' fails_with 'is not a run' again $rows 1

# --- what goes wrong ---------------------------------------------------------------------------

odd() { odd=--no-such-option OUT=odd small; }
without_text() { QUICK='' OUT=none DATA=$dir/nowhere small; }
other_text() {
    mkdir -p other
    for name in wikitext2-a wikitext2-b warandpeace; do echo another >other/$name.txt; done
    QUICK='' OUT=none DATA=other small
}
check 'an error of a run ends the experiment and is shown' fails_with 'unknown option' odd
check 'a text that is missing is named, and what it is' fails_with 'nowhere/.*bytes' without_text
check 'another text of the same name is refused' fails_with 'is not the text' other_text
check 'nothing is made then' eval '[ ! -e none ] && nothing_left'

# --- verdicts --------------------------------------------------------------------------------

cat >means.csv <<'END'
attn,length,n,mean,sd,min,max
a,64,3,2.0,0.03,1,3
b,64,3,2.2,0.04,1,3
c,64,1,9.0,,9,9
d,64,3,inf,,1,3
END
cat >seeds.csv <<'END'
attn,seed,length,n,mean,sd,min,max
a,1,64,1,1.97,,1,3
a,2,64,1,2.03,,1,3
b,1,64,1,2.16,,1,3
b,2,64,1,2.24,,1,3
b,3,64,1,2.2,,1,3
END
says() { # WORDS STATEMENT...: margin of b - a is 2 sqrt(0.00125) sqrt(2) = 0.1
    words=$1
    shift
    printf '%s\n' "$@" | awk -v claim=C0 -v seeds=3 -v by_seed=seeds.csv \
        -f experiments/lib/verdict.awk means.csv seeds.csv - >verdict
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
check 'each seed has its own sum, if all cells have the seed' says '| 0.0900 | 0.1000 | 0.0800 0.1000 | open |' \
    'by some: b/64 - a/64 - 0.11'
check 'a cell that is not there is an error' eval '! says x "e: e/64" && [ ! -s verdict ]'

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
