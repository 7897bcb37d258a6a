#!/bin/sh
# The numbers that the programs print: they agree with each other, with the log, and with what is known beforehand.
# Then what comes while a program is still at work, and how it ends. shell.sh says what `refused`, `works` and `check`
# are; the last line has the numbers of those that passed and failed.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=tests/shell.sh
. "$root/tests/shell.sh"

bytes 2000 text
bytes 170 least
films >../in/labels.tsv
two="$text ../in/least"
of_films="$labels ../in/labels.tsv --labels-val ../in/labels.tsv"
whole=../out/whole
exact= # sanitizers take memory of their own
"$train" --version | grep -q -e -fsanitize || exact=yes

# --- the end of a training run -----------------------------------------------------------------

agrees() { # what is printed follows from the log, and its numbers from each other
    awk 'function off(a, b, by) { return (a - b) ^ 2 > by ^ 2 }
        /^best evaluation/ { best = $3 }
        /^validation loss/ {
            loss = $3
            gsub(",", "")
            for (i = 5; i <= NF; i++) if ($i == "ppl") ppl = $(i + 1); else if ($(i + 1) == "bits/byte") bits = $i
        }
        /"split":"val"/ {
            match($0, /"loss":[0-9.]*/)
            x = substr($0, RSTART + 7, RLENGTH - 7) + 0
            if (low == "" || x < low) low = x
        }
        END { exit !loss || off(ppl, exp(loss), 2e-4 * ppl) || off(bits, loss / log(2), 2e-4) || off(best, low, 1e-4) }' \
        "$dir/stdout" "$run/log.jsonl" || no "$(cat "$dir/stdout")"
}
drawn() { # SPLIT NAME: the last loss of the log is in the picture
    loss=$(sed -n "s/.*\"split\":\"$1\",\"loss\":\([^,]*\),.*/\1/p" "$run/log.jsonl" | tail -n 1)
    grep -q "<title>$2 loss: $(printf %.6g "$loss") at 3</title>" "$run/loss.svg" || no "$2 $loss"
}
worse() { awk '/^best evaluation/ { best = $3 } /^validation loss/ { exit !($3 > best) }' "$dir/stdout"; }
vectors() { grep -o 'vectors of [0-9]* bits' "$dir/err" | head -n 1; }
works 'a small run' $text
check 'perplexity and bits are those of the loss, and the best is the lowest' agrees
check 'the picture has the last training loss' drawn train training
check 'and the last one of the validation' drawn val validation
check 'the vectors are those of --version' [ "$(vectors)" = "$("$train" --version | tail -n 1)" ]

works 'a run that unlearns' --learning-rate 1 --min-lr 1 $text
check 'is worse at its end' worse
check 'its best is the lowest all the same' agrees

sampled() { # by ./sample, what the run ended with
    "$sample" --tokens 60 --temperature 0 ../out/likeliest 2>/dev/null >"$dir/one"
    sed '1,/^a sample:$/d' "$dir/stdout" | cmp -s - "$dir/one"
}
check 'a run that ends with the likeliest tokens' part 0 likeliest $small --sample-tokens 60 --temperature 0 $text
check 'has those that ./sample finds' sampled

check 'four rows are learned by heart' part 0 by-heart $of_films --max-iters 200 --lr 0.02
check 'all of them' says '^validation loss .*, accuracy 100.0%, macro-F1 1.0000 '
check 'where guessing would be right half of the time' \
    says '^for comparison: guessing is right 50.0% of the time, the most frequent answer 50.0%$'
recorded() { grep '"texts"' "../out/$1/config.json" | grep -o '"file"' | wc -l; }
check 'both files of labels are in the configuration' [ "$(recorded by-heart)" -eq 2 ]
check 'two texts are told apart' part 0 classes $small --block-size 8 --task classify $two
check 'and counted together' said ': 1953 bytes to train on, 217 to validate,'
check 'both are in the configuration' [ "$(recorded classes)" -eq 2 ]
# shellcheck disable=SC2046 # as many arguments as there are letters
printf '\303\244%.0s' $(seq 300) >../in/umlauts
check 'characters of two texts' part 0 letters $small --block-size 8 --task classify --tokenizer char $text ../in/umlauts
check 'are those of both' said ' 257 tokens in the vocabulary (char)$'

mkdir ../in/cifar
for i in 1 2 3 4; do image 1 && image 2; done >../in/cifar/data_batch_1.bin
for i in 0 1 2 3 4 5 6 7 8 9; do image $i; done >../in/cifar/test_batch.bin
check 'a test of one image of each class' part 0 images $images --data ../in/cifar
check 'is right once, as all images are black' says '^test accuracy 10.0% (all 10 rows)'

entropies() { # the first one, on stderr, and the last, on stdout, are the same
    awk '/^its true entropy is/ { a = $5 } /^true entropy/ { b = $5 } END { exit !(a != "" && a == b) }' \
        "$dir/err" "$dir/stdout" || no "$(grep -h entropy "$dir/err" "$dir/stdout")"
}
check 'built-in stories' part 0 stories $small --story-bytes 20000
check 'have the same entropy at the beginning and at the end' entropies

check 'a run with TensorBoard files' part 0 board $small --tensorboard $text
check 'has its options there' grep -aq -e '    --n-layer 1$' ../out/board/events.*
check 'a run of nothing but warm-up' part 0 warm $small --warmup-iters 3 $text
check 'is warned of' said '^attn.c: warning: --warmup-iters 3: the run ends at update 3, '

# --- estimates ---------------------------------------------------------------------------------

per_token() { # six operations for each parameter that is multiplied, or a few more, are so many million
    awk '/ MFLOP per token/ { n = $1 * 6e-6; exit !($3 > n / 4 && $3 < 2 * n) }' "$dir/err" || no "$(cat "$dir/err")"
}
adds_up() { # UPDATES: the seconds are about those of so many
    awk -v updates="$1" '/^expected time/ {
            for (t = $3; match(t, /^[0-9]+[hms]/); t = substr(t, RLENGTH + 1))
                s += substr(t, 1, RLENGTH - 1) * (t ~ /^[0-9]+h/ ? 3600 : t ~ /^[0-9]+m/ ? 60 : 1)
            share = updates * $5 / 1000 / s
            exit !(share > 0.05 && share < 20)
        }' "$dir/stdout" || no "$(cat "$dir/stdout")"
}
plans() { $patience "$train" $small --dry-run "$@" >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")"; }
check 'a plan' plans --n-embd 64 --block-size 64 --batch-size 8 --max-iters 10000 $text
check 'its operations are those of its parameters' per_token
check 'its time is that of its updates' adds_up 10000
check 'a plan of a long run' plans --max-iters 1000000 $text
check 'has a peak of up to some TFLOP/s' said '^1 thread, vectors of [0-9]* bits, peak [1-9][0-9]\{0,3\} GFLOP/s, seed'

peak() { tail -n 1 "../out/$1/log.jsonl" | sed 's/.*"peak_memory":\([0-9]*\).*/\1/'; }
memory_is() { # FOLDER: the estimate is near what the run took
    awk '{ if (match($0, /about [0-9]* MiB/)) about = substr($0, RSTART + 6, RLENGTH - 10) + 0
           if (match($0, /"peak_memory":[0-9]*/)) peak = substr($0, RSTART + 14, RLENGTH - 14) / 1048576 }
        END { exit !(about > peak / 3 && about < peak * 3) }' "$dir/err" "../out/$1/log.jsonl" || no "$(grep MiB "$dir/err")"
}
if [ "$exact" ]; then
    deep="$small --n-embd 64 --n-layer 6 --block-size 256 --batch-size 8 --val-share 0.5 --max-iters 2 --eval-iters 1
        --sample-tokens 0"
    check 'a run of many layers' part 0 deep $deep $text
    check 'takes about the memory that was estimated' memory_is deep
    check 'one that computes them again' part 0 shallow $deep --recompute $text
    check 'takes less' [ $(($(peak shallow) * 4)) -lt $(($(peak deep) * 3)) ]
else
    skip 'memory of runs (sanitizers have their own)'
fi

check 'a run of a second' part 0 minutes --minutes 0.02 --n-layer 1 --n-embd 24 --threads 1 --max-iters 3 \
    --sample-tokens 0 $text
check 'its rate ends at 0' grep -q '"min_lr": 0,' ../out/minutes/config.json
check 'its heads follow from its width' grep -q '"n_head": 2,$' ../out/minutes/config.json

check 'help has the temperature of the sample' helps temperature '(0.8)'
check 'and the time between checkpoints' helps save-interval '(300s)'
check 'and how long a sample is' helps tokens '(500)' "$sample"

# --- resuming ----------------------------------------------------------------------------------

last_loss() { grep '"split":"train"' "../out/$1/log.jsonl" | tail -n 1 | sed 's/.*"loss":\([^,]*\),.*/\1/'; }
check 'a whole run' part 0 whole $steps $text
check 'a run that stops at 7 of 10' part 130 cut $steps --stop-at 7 $text
check 'and goes on' part 0 cut --resume
check 'counts its own updates' says '^3 steps in '
check 'and says where it begins' said '^resuming after step 7$'
check 'a run that stops at 4' part 130 less $steps --stop-at 4 $text
check 'and goes on with dropout' part 0 less --resume --dropout 0.5
check 'uses it' [ "$(last_loss less)" != "$(last_loss whole)" ]
dashed() { # a run in a folder that begins with a dash
    (cd ../out && $patience "$train" $steps --stop-at 4 --out-dir=-x ../in/text 2>"$dir/err" >"$dir/stdout")
    [ $? = 130 ]
}
check 'a run in a folder called -x' dashed
check 'is continued by a command with its folder as ./-x' said '/train --resume \./-x --threads 1$'
check 'a run on standard input' part 130 piped $steps --stop-at 4 - <$text
check 'needs it again' said '^to continue, with the same text on standard input:$'
saves_every() { grep -q "\"save_interval\": $2," "../out/$1/config.json"; }
check 'a run with a time between checkpoints' part 0 often $small --save-interval 7s $text
check 'and goes on' part 0 often --resume --max-iters 5
check 'keeps it' saves_every often 7
check 'a run with its configuration' part 0 again --config ../out/often
check 'has it, too' saves_every again 7

# --- ./eval ------------------------------------------------------------------------------------

final() { sed -n "/\"split\":\"final\"/s/.*\"$2\":\([0-9.e-]*\).*/\1/p" "../out/$1/log.jsonl"; }
check 'a masked run' part 0 masked $steps --max-iters 40 --task mlm $text
check 'is evaluated' table 1 --lengths 16 --csv ../out/one.csv ../out/masked
check 'its accuracy is that of the log' [ "$(column accuracy ../out/one.csv)" = "$(final masked accuracy)" ]
check 'a run on rows with labels' part 0 films $of_films --block-size 12
check 'is evaluated' table 1 --lengths 12 --csv ../out/one.csv ../out/films
check 'its macro-F1 is that of the log' [ "$(column macro_f1 ../out/one.csv)" = "$(final films macro_f1)" ]
check 'its step is its last' [ "$(column step ../out/one.csv)" = 3 ]

partly() { # some answers are right, but in no row all; the error is that of a share
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 {
            a = $at["accuracy"]; e = sqrt(a * (1 - a) / $at["targets"])
            exit !(a > 0 && $at["exact"] == 0 && $at["acc_error"] > e / 2 && $at["acc_error"] < 2 * e)
        }' ../out/one.csv || no "$(cat ../out/one.csv)"
}
check 'a run on copies' part 0 copy $small --block-size 144 --task copy
check 'is evaluated' table 1 --rows 20 --lengths 144 --csv ../out/one.csv ../out/copy
check 'answers, whole rows and the error are those of a few right answers' partly
added() { # RUN LENGTH: right answers of the rows that are shown are those in the last line
    $patience "$evaluate" --show 3 --rows 2 --lengths "$2" "$1" >"$dir/stdout" 2>/dev/null
    awk '/^  [0-9]* of [0-9]* right$/ { n += $1; m += $3 }
        /^  right$/ { n++; m++ }
        /^  wrong$/ { m++ }
        / in the rows above$/ { exit !(n == $1 && m == $3) }' "$dir/stdout" || no "$(tail -n 5 "$dir/stdout")"
}
check 'its rows with many answers add up' added ../out/copy 144
check 'a run on parities' part 0 parity $small --block-size 64 --task parity
check 'its rows with one answer add up' added ../out/parity 64

check 'losses by position' table 4 --protocol by-position --lengths 16 --csv ../out/pos.csv $whole
check 'have the positions from first to last' \
    [ "$(cut -d , -f 3,4 ../out/pos.csv | tail -n +2 | tr '\n' ' ')" = '0,3 4,7 8,11 12,15 ' ]
check 'and twice as many of a window twice as long' table 8 --protocol by-position --lengths 32 $whole
check 'positions with a scale' table 3 --lengths 16,32,64 --rope-scale linear:2 $whole
check 'lie within it' says '^ *32 .* interpolation$'
check 'or beyond' says '^ *64 .* extrapolation$'
check 'and a line names the text' tell '^measured on the validation text$'
check 'a picture of one length' table 1 --lengths 16 --svg ../out/p.svg $whole
check 'is there' [ -s ../out/p.svg ]

# --- ./analyse ---------------------------------------------------------------------------------

slopes() { # a line through three points has their mean
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $1 == "head" && $3 == 1 {
            n++
            off += $at["entropy"] - $at["entropy_slope"] * $at["ln_seen"] - $at["entropy_slope_constant"]
        }
        END { exit n != 3 || off ^ 2 > 1e-12 }' ../out/l.csv
}
of_uniform() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } /^uniform/ { print $at[name] }' ../out/a.csv; }
means() { # of the ranks of two heads
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "rank_0.1") c = i }
        /^head/ { n++; sum += $c }
        END { printf "%.1f", sum / n }' ../out/a.csv
}
check 'rows by length, without a mask' analyses --lengths 2,4,8 --windows 3 --band 1 --unmask --csv ../out/l.csv $whole $text
check 'all see all keys' grep -q '^uniform,,,8,3,8,' ../out/l.csv
check 'uniform rows of 8 have 22 of 64 weights near the diagonal' \
    [ "$(sed -n 's/^uniform,,,8,3,//p' ../out/l.csv | cut -d , -f 8)" = 0.34375 ]
check 'each line has the mean of its points' slopes
check 'rows of one length' analyses --length 8 --windows 5 --band 1 --activations ../out/act.csv --csv ../out/a.csv $whole $text
check 'activations are apart by a share, with a rank from 1 to 8' \
    awk -F, 'NR > 1 { n += $2 > 0 && $2 <= 1 && $3 > 1 && $3 <= 8 } END { exit n != 2 }' ../out/act.csv
check 'ranks are means of the heads' \
    [ "$(sed -n '/^Rank by/,/^$/s/^ *1 *A *\([0-9.]*\).*/\1/p' "$dir/stdout")" = "$(means)" ]
check 'uniform rows have a full rank, a mean and 5 of 8 keys' says '^  *uniform  *8\.0  *1\.000  *[0-9.]*  *5\.0 '
check 'scores have the rank of a head' says '^Q K^T has a rank of at most 8, '
check 'keys of uniform rows are 7/4 away' [ "$(of_uniform distance)" = 1.75 ]
check 'and 55% of their weights near the diagonal' [ "$(of_uniform in_band | cut -c 1-8)" = 0.554464 ]
check 'a matrix of rank 1 and its exponential' analyses --exponent 20 --csv ../out/e.csv
check 'have rank 1, and more' [ "$(awk -F, 'NR > 1 { print $5, ($6 > 1 ? "more" : $6) }' ../out/e.csv |
    sort | uniq -c | tr -s ' \n' ' ')" = ' 8 S 1 8 exp(S) more ' ]
# A rate of next to nothing leaves both the same weights.
for share in 0.1 0.9; do
    check "a run with $share of its tokens masked" \
        part 0 masks $small --max-iters 1 --lr 1e-9 --task mlm --mask-share $share $text
    check 'is analysed' analyses --csv ../out/$share.csv ../out/masks
done
apart() { awk "BEGIN { exit !(($(column entropy ../out/0.1.csv) - $(column entropy ../out/0.9.csv)) ^ 2 > 1e-6) }"; }
check 'with as many masks' apart

# --- ./sample, ./fill and ./classify -----------------------------------------------------------

rates() { # tokens per second are the tokens by the seconds
    awk '/ tokens* in / { d = $6 * $4 / $1; if (d > 0.5 && d < 2) ok = 1 } END { exit !ok }' "$dir/err" || no "$(cat "$dir/err")"
}
check 'a sample of 20000 tokens' samples --tokens 20000 $whole
check 'how many a second' rates
check 'a long sample' samples --tokens 5000 --temperature 2 $whole
cp "$dir/stdout" "$dir/one"
check 'and in bf16' samples --tokens 5000 --temperature 2 --precision bf16 $whole
check 'which differ somewhere' differ "$dir/stdout" "$dir/one"

check 'a blank' fills ../out/masked 'if (x___ > 0)'
check 'without a warning' quiet
nothing_to_fill() { echo none | fills ../out/masked; }
check 'lines without a blank' nothing_to_fill
check 'with one' said '^attn.c: warning: there was no blank: write ___ where tokens are missing$'
check 'more candidates than there are tokens' fills --top 1000 --csv ../out/masked 'x_'
check 'are all of them' lines 257 "$dir/stdout"

surely() { awk '$1 + 0 > 0.5' | wc -l; } # how many lines have more than a half
check 'four rows are classified surely' [ "$(found | cut -f 2 | surely)" -eq 4 ]
check 'in CSV' [ "$(found --csv | sed '1d;s/.*,//' | surely)" -eq 4 ]
check 'and in JSON' [ "$(found --json | sed 's/.*"probabilities":{"[a-z]*":\([^,]*\),.*/\1/' | surely)" -eq 4 ]
check 'the first and the second label of each' \
    [ "$(found --csv --top 2 | sed '1d;s/,[^,]*,[^,]*$//;s/.*,//' | tr -d '\n')" = 12121212 ]
check 'a text in windows of 8' classifies --json ../out/classes $text
check 'is all read' says '"tokens":2000,"windows":250,'
lines_of_films() { cut -f 2 ../in/labels.tsv | classifies --lines ../out/films; }
check 'lines beyond the context' lines_of_films
check 'are cut, and named' tell '^14 tokens, cut to the context of 12: fine, and long$'
printf 'a fine film\n' >../in/line
as_line() { found "$@" | head -n 1 | sed 's/.*"label"//' | cut -f 1,2; }
as_file() { "$classify" "$@" ../out/by-heart ../in/line 2>/dev/null | sed 's/.*"label"//' | cut -f 1,2; }
check 'a file of one line is that line' [ "$(as_file)" = "$(as_line)" ]
check 'in JSON as well' [ "$(as_file --json)" = "$(as_line --json)" ]

# --- other programs ----------------------------------------------------------------------------

counted() { # 2000 bytes, fewer tokens, and how many bytes are one
    awk '/ bytes are / { exit !($1 == 2000 && $4 > 300 && $4 < 2000 && ($6 - $1 / $4) ^ 2 < 1e-6) }' "$dir/stdout" ||
        no "$(cat "$dir/stdout")"
}
check 'pieces of words' eval '"$tokenize" --tokenizer bpe:300 $text >"$dir/stdout"'
check 'are fewer than bytes, by the ratio' counted

imports() { "$export" $whole ../out/exported >/dev/null && "$import" "$@" ../out/exported ../out/shorter >"$dir/stdout"; }
parameters() { sed -n 's/.*"parameters": \([0-9]*\)$/\1/p' ../out/shorter/config.json; }
check 'an export is imported with half of its context' imports --block-size 8
check 'as its line says' says ', context 8, '
check 'and recorded' grep -q '"block_size": 8,' ../out/shorter/config.json
check 'a plan of its configuration' \
    eval '"$train" --config ../out/shorter --dry-run $text >"$dir/stdout" 2>"$dir/err"'
check 'has as many parameters' [ "$(sed -n 's/^\([0-9]*\) parameters,.*/\1/p' "$dir/err")" = "$(parameters)" ]

check 'a measured step' benches --only step --attn relu --lengths 4,8 --save $saved
check 'takes more than a MiB and less than 1000' \
    awk '/^peak memory of the process:/ { exit !($6 > 1 && $6 < 1000) }' "$dir/stdout"
check 'on a machine of up to some TFLOP/s' awk '/^peak of/ { exit !($5 > 0.1 && $5 < 5000) }' "$dir/stdout"
was 0.01
check 'a hundred times as long is more than 3000% slower' against 1 --margin 3000
check 'a step that recomputes' benches --only step --attn relu --lengths 8 --recompute
check 'says so' grep -q '^step,"relu 1 x 16, context 8, .*recompute' ../out/csv
check 'three elements of each derivative' eval '"$gradcheck" --attn efficient --elements 3 >"$dir/stdout"'
check 'are at most three times as many' \
    awk '/ derivatives of / { n = 1; exit !($1 <= 3 * $4) } END { if (!n) exit 1 }' "$dir/stdout"

printf 'attn,length,ppl\nrelu,64,4\nrelu,,5\n' >../in/gap.csv
check 'a figure of a row without a length' eval '"$figure" --y ppl --x length --by attn ../in/gap.csv >"$dir/stdout" 2>"$dir/err"'
check 'leaves out one' said '^attn.c: warning: rows left out: 1 with nothing in length$'
mkdir ../out/b && cp -r $whole ../out/b/whole
check 'a report of two runs of one name' eval '"$report" -o ../out/r.html $whole ../out/b/whole 2>"$dir/err"'
check 'tells them apart' grep -q '\.\./out/b/whole' ../out/r.html

{ tensors_head && printf '\0\0\200\77%.0s' $(seq 192); } >../in/ones
in_layer() { "$attend" --attn lightning --causal --layer "$1" --layers 4 ../in/ones "../out/layer-$1"; }
check 'what the first of four layers attends to' in_layer 0
check 'and the last' in_layer 3
check 'which fade differently' differ ../out/layer-0 ../out/layer-3

# --- line by line ------------------------------------------------------------------------------

kill_job() {
    kill -KILL $job 2>/dev/null
    wait $job 2>/dev/null
    job=
}
# Both ends of a conversation are pipes. What the program does after the first answer is of no interest.
mkfifo ../ask ../answer
answers() { # COMMAND...: to a line, before there is another
    "$@" <../ask >../answer 2>/dev/null &
    job=$!
    exec 4>../ask 5<../answer
    (echo a_ >&4) # which may have ended
    timeout 20 head -n 1 <&5 >"$dir/stdout"
    exec 4>&- 5<&-
    kill_job
    [ -s "$dir/stdout" ] || no 'no answer'
}
check 'fill answers a line before the next' answers "$fill" ../out/masked
check 'and classify' answers "$classify" --lines ../out/classes
check 'in JSON as well' answers "$classify" --lines --json ../out/classes
check 'and sample' answers "$sample" --interactive --tokens 9 $whole
cat "$root"/ops/*.c | head -c 60000 >../in/long
comes() { # a row, while the next one is computed
    "$evaluate" --lengths 8,16384 --threads 1 $whole ../in/long >"$dir/stdout" 2>/dev/null &
    job=$!
    until [ "$(wc -l <"$dir/stdout")" -ge 2 ] || ! alive; do sleep 0.02; done
    kill_job
    lines 2 "$dir/stdout"
}
check 'eval prints a row before the next' comes

# --- how programs end --------------------------------------------------------------------------

check 'a sample that nobody reads is no failure' unread "$sample" --tokens 100000 $whole
until_() { # WORDS FILE: the job has written them
    i=0
    until grep -q "$1" "$2"; do
        i=$((i + 1))
        [ $i -lt 200 ] && alive || no "no $1" || return
        sleep 0.1
    done
}
dry_stops() { # a plan that times an update of a hundred thousand batches
    : >"$dir/err"
    "$train" $small --gradient-accumulation-steps 100000 --dry-run $text >"$dir/stdout" 2>"$dir/err" &
    job=$!
    until_ 'nothing is written' "$dir/err" || { kill_job; return 1; }
    sleep 0.2
    kill -TERM $job
    soon 143 20 && [ ! -s "$dir/stdout" ]
}
check 'TERM ends a plan' dry_stops
interrupted() { # Ctrl-C ends the answer, the end of the input the program
    : >"$dir/stdout"
    "$sample" --interactive --tokens 16000000 $whole <../ask >"$dir/stdout" 2>"$dir/err" &
    job=$!
    exec 4>../ask
    (echo The >&4)
    until_ . "$dir/stdout" && kill -INT $job && sleep 0.3 && alive || no 'it ended'
    exec 4>&-
    soon 0 20
}
check 'Ctrl-C ends an answer of sample, not the conversation' interrupted

to_full_disk() { # COMMAND...: ends with 4 and an error
    $patience "$@" >/dev/full 2>"$dir/err"
    code=$?
    [ $code = 4 ] && said '^attn.c: error: .*standard output' || no "exit $code: $(cat "$dir/err")"
}
if [ -c /dev/full ]; then
    check 'results of analyse to a full disk end with 4' to_full_disk "$analyse" $whole
    check 'those by length' to_full_disk "$analyse" --lengths 4,8 $whole
    check 'of eval' to_full_disk "$evaluate" --lengths 16 $whole
    check 'of classify' to_full_disk "$classify" ../out/classes $text
    check 'of fill' to_full_disk "$fill" ../out/masked a_
    check 'of tokenize' to_full_disk "$tokenize" --ids $text
else
    skip 'full disks (needs /dev/full)'
fi

finish
