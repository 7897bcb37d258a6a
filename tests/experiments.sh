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
for name in Makefile run page again texts runs.awk rows.awk estimate.awk best.awk judge.awk \
    verdict.awk; do
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
only_says() { # what would be run first
    timeout 60 make -n -f experiments/Makefile small OUT=none >said_of_it &&
        [ "$(grep -c '^experiments/run ' said_of_it)" -eq 7 ] && [ ! -e none ]
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
check 'a dry run says what would be run first, and ends' only_says
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
        grep -q '^relu,mqar,[0-9]*,[0-9.][0-9.]*,3.1,[0-9.][0-9.]*$' first/look/results.csv
}
check 'without lengths a run has one row, of what it found itself' look

# --- again -----------------------------------------------------------------------------------

again() { ./experiments/again "$1" "$2"; }
is_the_same() { for line in 2 6 10 13 17; do again $rows $line || return; done; }
old_row() { awk -F , -v OFS=, 'NR > 1 { $18 = "" } { print }' $rows >old.csv && again old.csv 6; }
other_build() { awk -F , -v OFS=, 'NR > 1 { $20 = "abc1234" } { print }' $rows >build.csv && again build.csv 6; }
other_gain() {
    awk -F , -v OFS=, 'NR > 1 { $18 = "0.7" } { print }' $rows >gain.csv
    ! again gain.csv 6 && tail -n 1 "$dir/said" | grep -q '^not the same'
}
changed() { # the last digit of the loss
    awk -F , -v OFS=, 'NR == 6 { sub(/.$/, ($12 ~ /1$/ ? "2" : "1"), $12) } { print }' $rows >changed.csv
    ! again changed.csv 6 && tail -n 1 "$dir/said" | grep -q '^not the same'
}
other_vectors() {
    awk -F , -v OFS=, 'NR == 6 { $12 = "1.5"; $19 = "1024" } { print }' $rows >vectors.csv
    ! again vectors.csv 6 && tail -n 1 "$dir/said" | grep -q '^The row was made with vectors of 1024 bits'
}
check 'a row comes out the same again' is_the_same
check 'one of an earlier commit, too' other_build
check 'a row from before there was a gain comes out the same' old_row
check 'another gain is found' other_gain
check 'a row from other vectors is said to be one' other_vectors
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

# --- learning rates ----------------------------------------------------------------------------

with() ( # VARIABLE VALUE COMMAND...
    eval "$1=\$2"
    shift 2
    "$@"
)
# The runs that a sweep from 0.004 on asks for next. Given: RATE SEED LOSS [GAIN]...
sweep() { # RUN... -- RATE SEED LOSS [GAIN]...
    want=
    while [ "$1" != -- ]; do
        want="$want $1"
        shift
    done
    shift
    mkdir -p sweep/one/rows
    for loss in "$@"; do
        echo "$loss" | tr ' ' , | awk -F , -v OFS=, -v length_="$length" '{ print "t,causal,elu,,8," $1, $2, "1,1,1," length_, $3,
            ",,,,," $4 ",,,\"--task causal --attn elu --x 1 --learning-rate " $1 " --seed " $2 "\"" }'
    done >sweep/one/rows/all.csv
    got=$(echo "${rates:-0.004,..}@t_task+causal_attn+elu_x+1" | awk -v folder=sweep/one -v lengths="${length:--}" -v seeds="${seeds:-3}" \
        -v part=1/1 -v spread=0.02 -v converging="$converging" -f experiments/runs.awk |
        sed -n 's/^todo:.*rate+\(.*\)_seed+\(.*\)/ \1:\2/p' | tr -d '\n')
    [ "$got" = "$want" ] || { echo "not$want but$got" && false; }
}
length=16
check 'a sweep begins with the given rate' sweep 0.004:1 --
check 'it goes on below the lowest rate' sweep 0.002:1 -- '0.004 1 2.0'
check 'it goes on above the highest' sweep 0.008:1 -- '0.004 1 2.0' '0.002 1 2.1'
check 'it goes on as long as the best is at the edge' sweep 0.016:1 -- '0.004 1 2.0' '0.002 1 2.1' '0.008 1 1.9'
check 'the best inside gets the other seeds' sweep 0.004:2 0.004:3 -- '0.004 1 2.0' '0.002 1 2.1' '0.008 1 2.1'
check 'a neighbour within the spread gets a second seed' sweep 0.004:2 0.008:2 -- \
    '0.004 1 2.0' '0.002 1 2.1' '0.008 1 2.01'
check 'the mean of two seeds chooses' sweep 0.016:1 -- \
    '0.004 1 2.0' '0.002 1 2.1' '0.008 1 2.01' '0.004 2 2.1' '0.008 2 2.0'
check 'and stays where it was if that is better' sweep 0.004:3 -- \
    '0.004 1 2.0' '0.002 1 2.1' '0.008 1 2.01' '0.004 2 2.0' '0.008 2 2.1'
check 'a rate that diverges is not the best, and is an edge' sweep 0.004:2 0.004:3 -- \
    '0.004 1 2.0' '0.002 1 2.1' '0.008 1 inf'
check 'nor is one that diverges with another seed' sweep 0.001:1 -- \
    '0.004 1 2.0' '0.002 1 2.1' '0.008 1 2.1' '0.004 2 2.0' '0.004 3 inf'
check 'nothing is missing in the end' sweep -- '0.004 1 2.0' '0.002 1 2.1' '0.008 1 2.1' '0.004 2 2.0' '0.004 3 2'
near() { # RUN... -- MORE...: with two rates as good as the best one, 0.004, a run at which has not converged
    sweep "$@" '0.004 1 2.0 0.01' '0.004 2 2.0 0.009' '0.002 1 2.015 0.009' '0.002 2 2.015 0.009' \
        '0.008 1 2.01 0.009' "0.008 2 ${second:-2.01} 0.009"
}
check 'the best counts, converged or not' near 0.004:3 --
converging=1
check 'unless the plan says otherwise: then the better of those' near 0.008:3 --
check 'whose losses are as good' with second 2.06 near 0.002:3 --
check 'or the best, if none is' sweep 0.004:3 -- \
    '0.004 1 2.0 0.01' '0.004 2 2.0 0.009' '0.002 1 2.1 0.001' '0.008 1 2.01 0.001' '0.008 2 2.06 0.001'
check 'with all seeds that both have' near 0.002:3 -- '0.004 3 2.0' '0.008 3 2.1'
check 'and whose runs have all converged' near 0.002:3 -- '0.008 3 2.0 0.01'
check 'also if they are no neighbours' sweep 0.002:3 -- '0.008 1 2.0 0.01' '0.008 2 2.0 0.009' '0.016 1 2.1 0.001' \
    '0.004 1 2.01 0.01' '0.004 2 2.01 0.02' '0.002 1 2.015 0.009' '0.002 2 2.015 0.009'
check 'without one it is the best again' near 0.004:3 -- '0.008 3 2.0 0.01' '0.002 3 2.0 0.02'
check 'a worse rate is none, though it converges' sweep 0.004:2 0.004:3 -- \
    '0.004 1 2.0 0.01' '0.002 1 2.1 0.001' '0.008 1 2.1 0.001'
rates=0.002,0.004
check 'of two rates the neighbour counts in the same way' sweep 0.002:3 -- \
    '0.004 1 2.0 0.01' '0.004 2 2.0 0.001' '0.002 1 2.01 0.001' '0.002 2 2.01 0.001'
check 'with a second seed' sweep 0.002:2 -- '0.004 1 2.0 0.01' '0.002 1 2.01 0.001'
check 'and one that is worse does not' sweep 0.004:2 0.004:3 -- '0.004 1 2.0 0.01' '0.002 1 2.021 0.001'
check 'where the runs at the best converge, it gets the other seeds' sweep 0.002:2 0.002:3 -- \
    '0.004 1 2.01 0.001' '0.002 1 2.0 0.001'
converging=
check 'and otherwise the best counts' sweep 0.004:2 0.004:3 -- '0.004 1 2.0 0.01' '0.002 1 2.01 0.001'
rates=
length=
check 'it goes on where rows have no length' sweep 0.002:1 -- '0.004 1 2.0'

converges() { # column 18: the loss after four fifths and after all
    [ "$(head -n 1 $rows | cut -d , -f 18)" = gain ] || return
    awk -F , 'NR > 1 && $6 == "0.01" && $18 !~ /^-?0\.[0-9]+$/ { exit 1 }' $rows || return
    printf '%s\n' '{"step":3,"split":"val","loss":5,"x":1}' '{"step":8,"split":"val","loss":4.0,"x":1}' \
        '{"step":9,"split":"val","loss":3.5,"x":1}' '{"step":10,"split":"val","loss":3.0,"x":1}' |
        awk -v columns=gain -v options='--max-iters 10' -f experiments/rows.awk | grep -qx 0.250000
}
check 'a row says what the last fifth of the updates gained' converges

counts() { # the tokens in the log count where batches grow
    for stages in '' ' --batch-stages 4,8'; do
        printf '%s\n' '{"step":1,"split":"train","tokens":32,"x":1}' '{"step":2,"split":"train","tokens":96,"x":1}' |
            awk -v columns=tokens -v options="--max-iters 2 --batch-size 8 --block-size 8$stages" -f experiments/rows.awk
    done | tr '\n' ' ' | grep -qx '128 96 '
}
check 'a row says on how many tokens a run was trained' counts

# What a screen found: of each mechanism and length the position with the lowest mean, unless one diverged.
best() {
    { echo header
      for row in 'elu rope 256 0.008 1 2.0' 'elu rope 256 0.008 2 2.2' 'elu none 256 0.004 1 2.15' \
          'elu none 256 0.004 2 2.0' 'exp rope 256 0.002 1 1.0' 'exp rope 256 0.002 2 inf' 'exp none 256 0.016 1 3' \
          'elu none 64 0.016 1 3'; do
          echo "$row" | awk -v OFS=, '{ print "t,causal", $1, "", $3, $4, $5, "1,1,1,16", $6, ",,\"--task t --position " $2 " --x\"" }'
      done; } >screen
    [ "$(awk -f experiments/best.awk screen | tr '\n' ' ')" = \
        'elu:none:256:0.004 exp:none:256:0.016 elu:none:64:0.016 ' ]
}
check 'of a screen the best position counts, with its rate' best

# --- verdicts --------------------------------------------------------------------------------

{
    echo attn,seed,length,n,mean,sd,min,max
    for cell in a,1,64,1,1.97 a,2,64,1,2.03 a,3,64,1,2.0 a,4,64,1,2.02 a,5,64,1,1.98 b,1,64,1,2.16 \
        b,2,64,1,2.24 b,3,64,1,2.2 b,4,64,1,2.21 b,5,64,1,2.19 c,1,64,1,9.0 d,1,64,1,2.0 d,2,64,1,inf \
        e,1,64,1,2.17 e,2,64,1,2.23 e,4,64,1,2.22 f,1,64,1,1.971 f,2,64,1,2.031 f,3,64,1,2.0 \
        f,4,64,1,2.02 f,5,64,1,1.98; do
        echo "$cell,,1,3"
    done
    for name in kda aa zz elu exp relu; do # awk visits these before or after `a`
        printf '%s,64,1,%s,,1,3\n' $name,1 2.16 $name,2 2.24 $name,3 2.2 $name,4 2.21 $name,5 2.19 $name,6 inf
    done
} >cells.csv
awk -F , -v OFS=, 'NR > 1 { $5 = $1 == "b" && $2 == 2 ? late : 0.001 } $1 != "f" { print }' late=0.009 cells.csv >gains.csv
awk -F , -v OFS=, 'NR > 1 { $5 = $1 == "b" && $2 == 2 ? late : 0.001 } { print }' late=0.011 cells.csv >late.csv
judged() { # GAINS SETTING... < STATEMENTS
    gains=$1
    shift
    awk -v claim=C0 "$@" -f experiments/judge.awk -f experiments/verdict.awk kind=value cells.csv \
        kind=gain "$gains" kind=statement -
}
# b - a is 0.19 0.21 0.2 0.19 0.21, whose mean is 0.2 and whose deviation 0.01; t(.975, 4) / sqrt(5) is 1.2417.
says() { # WORDS STATEMENT...
    words=$1
    shift
    printf '%s\n' "$@" | judged "${gains_file:-gains.csv}" -v "${setting:-x=1}" >verdict
    grep -q -F "$words" verdict
}
b_a='b is worse: b/64 - a/64'
check 'what is above its floor and its interval holds' \
    says '**C0: reproduced.** b is worse: 0.2000 ± 0.0124 (holds)' "$b_a"
check 'the table has mean, deviation, seeds and the last gain' says '| b is worse | 0.2000 ± 0.0124 | 0.0100 | 5 | 0.9% | holds |' "$b_a"
check 'what is below is contrary' says '**C0: not reproduced.**' 'a is worse: a/64 - b/64' "$b_a"
check 'what is within its floor makes no difference' says '(no difference)' 'by more: b/64 - a/64 - 0.195'
check 'with another statement its interval is too wide' says '(open: 6 seeds)' 'by more: b/64 - a/64 - 0.195' "$b_a"
check 'a statement has a floor of its own' says '(open: ' 'by 0.2: b/64 - a/64 > 0.21'
check 'an open statement says how many seeds it takes' says '(open: 7 seeds)' 'by more: b/64 - a/64 - 0.19 > 0'
check 'the common floor is a setting' with setting floor=0.3 says '(no difference)' "$b_a"
check 'no difference can be the claim' says '**C0: reproduced.** by 0.2: 0.0000' 'by 0.2: b/64 - a/64 - 0.2 ='
check 'a difference is then contrary' says '**C0: not reproduced.**' 'the same: b/64 - a/64 = 0.1'
check 'a difference that is none is no difference' says '**C0: undecided.**' 'more: b/64 - a/64 - 0.2'
check 'one contrary statement decides' says '**C0: not reproduced.**' 'by more: b/64 - a/64 - 0.19 > 0' 'no: a/64 - b/64'
check 'weights and constants count' says 'half: 0.3000 ± 0.0062' 'half: 1/2 b/64 - 1/2 a/64 + 0.2'
check 'more statements, wider intervals' says '0.2000 ± 0.0156' "$b_a" 'no: b/64 - a/64 - 0.2'
check 'the most certain one has the widest, however small its p' says 'far: 5.2000 ± 0.0124' \
    'far: b/64 - a/64 + 5' 'further: b/64 - a/64 + 100000'
check 'large numbers are rounded' says '| far | 1000 ± 0 | 0 | 5 |' 'far: b/64 - a/64 + 1000'
check 'what is in brackets does not count' says '**C0: reproduced.** b is worse: 0.2000 ± 0.0124' "$b_a" '(no: a/64 - b/64)'
check 'few seeds decide nothing' says '(open: 5 seeds)' 'e is worse: e/64 - a/64'
check 'nor does one' says '(open: 5 seeds)' 'c is worse: c/64 - a/64'
check 'the fewest seeds are a setting' with setting least=10 says '(open: 10 seeds)' "$b_a"
check 'what diverged decides nothing' says '(open: diverged)' 'd is worse: d/64 - a/64'
alone() { # NAME: a has no seed 6
    says '0.2000 ± 0.0124 (holds)' "worse: $1/64 - a/64"
}
for name in kda aa zz elu exp relu; do
    check "but not what has no partner ($name)" alone $name
done
check 'only seeds that all cells have count' says '| 0.2000 ± 0.0000 | 0.0000 | 3 |' 'by some: e/64 - a/64'
check 'what has not converged is not judged' with gains_file late.csv says '**C0: not converged.** b is worse: 0.2000' "$b_a"
check 'unless that is no question' with gains_file late.csv with setting limit=none says '**C0: reproduced.**' "$b_a"
check 'nor is what may not have' says '(open: convergence unknown)' 'f is worse: f/64 - b/64'
check 'which no number of seeds would change' says '(open: convergence unknown)' 'f is as bad: f/64 - a/64 - 0.02'
errs() { # WORDS STATEMENT
    ! printf '%s\n' "$2" | judged gains.csv >verdict 2>errors && [ ! -s verdict ] && grep -q -F "$1" errors
}
check 'a cell that is not there is an error' errs 'verdict of C0: there is no cell g/64' 'g: g/64'
check 'so is a statement without a sum' errs 'a statement is WORDS: SUM' 'b/64 - a/64'
check 'so is one without a cell' errs 'no seed in common' 'one: 1'
check 'so is none' errs 'there are no statements' ''

# The larger experiments, in a tiny version.
mkdir all
cp -R "$root/experiments" all/experiments
for name in train eval figure analyse tests README.md; do
    ln -s "$root/$name" "all/$name"
done
tiny() { (cd all && make -f experiments/Makefile claims CLAIMS='e1-causal e2-masked e4-lengths e4-norms' JOBS=2 OUT=tiny); }
each_claim() {
    for i in $(seq 35); do [ "$(grep -c "^| C$i | .* |" all/tiny/README.md)" -eq 1 ] || return; done
    [ "$(cat all/tiny/*/README.md | grep -c '^\*\*C[0-9]')" -ge 10 ] &&
        [ "$(grep -c '^| C.* undecided | ' all/tiny/README.md)" -eq "$(cat all/tiny/*/README.md | grep -c '^\*\*C[0-9]')" ]
}
judged_have_figures() { ! grep '^| C.* undecided | ' all/tiny/README.md | grep -v ' | \[figure\]([a-z0-9-]*/[a-z0-9]*\.svg) | '; }
tables_apart() { # the row of dashes is the second line of a table, or two tables have become one
    awk '/^\| ---/ && (before !~ /^\|/ || one_more ~ /^\|/) { exit 1 } { one_more = before; before = $0 }' all/tiny/*/README.md
}
mkdir -p some/one
printf '![loss](loss.svg)\n\n**C3: reproduced.** a: 1 (holds)\n\n**C4: not converged.** b: 2 (not converged)\n' >some/one/README.md
sorted() { # the claims of table N in the order WORDS
    [ "$(awk -v n="$1" '/^\| ---/ { t++ } /^\| C/ && t == n { print $2 }' some/README.md | tr '\n' ' ' | cut -c1-"${#2}")" = "$2" ]
}
check 'the tables of claims' eval '(cd "$root" && OUT=$dir/some experiments/claims)'
check 'are counted' grep -qx 'Of 35 claims, 1 were reproduced and 0 were not; 0 are undecided, and 34 could not be judged.' some/README.md
check 'the first has what is judged' sorted 1 'C3 '
check 'and no more' eval '[ "$(awk "/^\| ---/ { t++ } /^\| C/ && t == 1" some/README.md)" = \
    "| C3 | causal: cosFormer is near softmax, elu+1 clearly worse | reproduced | a: 1 (holds) | [figure](one/loss.svg) | [one](one/README.md) |" ]'
check 'the second all others' sorted 2 'C1 C2 C4 C5 '
check 'with what is known' grep -q '^| C4 | .* | not converged | b: 2 (not converged) | \[figure\](one/loss.svg) | \[one\](one/README.md) |$' some/README.md
check 'or nothing' grep -q '^| C5 | .* | no runs | |  |  |$' some/README.md
printf '**C3: undecided.** a: 1 (open:\n5 seeds)\n' >some/one/README.md
check 'a verdict that was broken over two lines is refused' eval '! (cd "$root" && OUT=$dir/some experiments/claims) 2>claims.txt'
check 'and said to be' grep -q 'some/one/README.md: a verdict is one line' claims.txt
check 'a tiny version of the larger experiments ends with their pages' tiny
check 'the tables have every claim once' each_claim
check 'what has a verdict has a figure' judged_have_figures
check 'tables in a row stay apart' tables_apart

# The rule on simulated statements, and what becomes of that if the rule has a mistake.
rule() { awk -v times="$1" -f "$2" -f "$root/tests/rule.awk" "$root/experiments/c03-perplexity/results.csv" \
    "$root/experiments/c15-c18-lengths/results.csv"; }
notices() { # SED: a planted bug
    sed "$1" experiments/judge.awk >broken.awk && ! cmp -s broken.awk experiments/judge.awk &&
        rule 1 broken.awk >found.txt
    grep -q ' WRONG$' found.txt
}
check 'the rule finds what is there, and seldom what is not' rule 600 experiments/judge.awk
for bug in 's/0\.05/0.1/' 's|0\.05 / left|0.05|' 's|0\.05 / left|0.05 / last|' 's/stuck = 1/stuck = 0/' \
    's|/ (n\[j\] - 1)|/ n[j]|' 's|(sd\[j\] / sqrt(n\[j\]))|sd[j]|' 's/n\[j\] - 1) : 0$/n[j]) : 0/' \
    's/abs(mean\[j\]) > bound\[j\] && p_zero/p_zero/' 's/mean\[j\] > 0 ?/1 ?/' 's/n\[j\] >= least \&\& abs/abs/' \
    's/bound\[j\] - abs(mean\[j\])/bound[j]/' 's/(i - 1) \/ i }/1 }/' 's/low + 1/low/;s/least - 1/least/' \
    's/< bound\[j\]$/> bound[j]/'; do
    check "the rule's test notices $bug" notices "$bug"
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
