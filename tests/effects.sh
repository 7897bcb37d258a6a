#!/bin/sh
# Every option of ./train that should change what is learned does, and every option of the programs
# that use a model changes what they print; the others are named here, and no option is missing. Called
# by make test-programs; the last line has the numbers of options.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
seq 700 | awk '{ printf "%s%s ", $1 % 7 ? "the " : "a ", $1 * $1 % 113 }' | head -c 3000 >text
seq 700 | awk '{ printf "%s, ", $1 * 7 % 101 }' >other
printf 'good\ta fine film\nbad\ta poor film\ngood\tfine, and long\nbad\tpoor, and short\n' >labels
printf 'yes\ta cat\ta small cat\nno\ta dog\ta bird\nyes\tone fish\tsome fish\nno\ttrees\twater\n' >pairs
sed 's/a/o/' pairs pairs >six
sed 's/fine/poor/' labels >others
small='--n-layer 2 --n-embd 16 --n-head 2 --block-size 16 --batch-size 2 --max-iters 6 --eval-iters 1
       --log-interval 1 --sample-tokens 0 --threads 1'

# Of ./train. OPTION [VALUE] | OTHERS: one run has both, one the others alone. Both are on `text`, unless other
# data are named.
effects='
attn relu |
task mlm |
tokenizer bpe:260 |
mask-share 0.5 | --task mlm
whole-word | --task mlm
labels labels --val-share 0.5 | --task classify
preset speedrun |
scale logn | --base 4
weight sigmoid |
base 4 | --scale logn
window 3 |
key-size 4 |
out-norm rms |
out-gate |
conv 2 |
conv-silu no | --conv 2
qk-norm rms |
reach 2 | --attn longformer
global 4 | --attn longformer --reach 1
random 1 | --attn bigbird --block 2 --reach 1 --block-size 32
pattern-seed 5 | --attn bigbird --random 1 --block 2 --reach 1 --block-size 32
block 4 | --attn local
rope-at before | --attn relu --position rope
horizon 40 | --attn cosformer
rope-ladder 2d | --attn cosformer --position rope
features 4 | --attn performer
kernel relu | --attn performer
learn-omega | --attn performer
redraw 2 | --attn performer
gated | --attn rfa
decay 3 | --attn retnet
slopes alibi | --attn lightning
share-keys no | --attn mamba2
skip no | --attn mamba2
negative | --attn deltanet
interaction add | --attn fastformer
products first | --attn fastformer --interaction add
share qv | --attn fastformer
norm softmax | --attn gau
rel-bias rope | --attn gau
gate no | --attn gau
chunk 4 | --attn flash-gau
rank 2 | --attn linformer --task mlm
landmarks 2 | --attn nystromformer --task mlm
kind random | --attn synthesizer
near 2 | --attn poolingformer --far 9 --pool-size 3 --pool-stride 2
far 6 | --attn poolingformer --near 2 --pool-size 3 --pool-stride 2
pool-size 2 | --attn poolingformer --near 2 --far 9 --pool-stride 2
pool-stride 1 | --attn poolingformer --near 2 --far 9 --pool-size 3
buckets 8 | --attn reformer --chunk 4
rounds 1 | --attn reformer --chunk 4
symbols 64 | --task mqar --items 2 --block-size 32
items 3 | --task mqar --symbols 64 --block-size 32
least 8 | --task listops --block-size 64
noise | --task mqar --symbols 64 --items 2 --block-size 32
difficulty hard | --task pathfinder --block-size 256
n-layer 1 |
n-head 4 |
n-kv-head 1 |
n-embd 32 |
block-size 8 |
dropout 0.3 |
position sinusoidal |
ffn swiglu |
layer-norm layer |
norm-eps 1e-8 |
n-inner 24 |
rope-base 100 |
shortcut |
value-embedding |
logit-cap 1 |
init-out zero |
gamma-init 1 | --attn gau
tied |
pool first | --task classify --labels labels --val-share 0.5
pairs towers | --task classify --labels pairs --val-share 0.5
bias |
residual no |
batch-size 3 |
lengths 4,8 |
length-stages 4,8,16 |
batch-stages 1,2 |
shuffle |
gradient-accumulation-steps 2 |
max-iters 5 |
optimizer muon |
schedule constant |
learning-rate 0.01 |
min-lr 0.001 |
warmup-iters 3 |
lr-decay-iters 3 |
cooldown 0.8 | --schedule wsd
momentum 0.5 | --optimizer sgd
momentum-warmup 3 | --optimizer muon
ns-steps 1 | --optimizer muon
nesterov | --optimizer sgd
weight-decay 0.9 |
cautious-decay | --weight-decay 0.9
beta1 0.5 |
beta2 0.5 |
ema 0.9 |
grad-clip 0.1 |
skip-spikes 0.5 | --max-iters 200 --log-interval 100
freeze embed |
seed 2 |
precision bf16 |
val-file other |
labels-val pairs | --task classify --labels six
val-share 0.5 |
story-bytes 100000 | --story-bytes 50000'

# What these change has tests of its own: files, times and what is printed.
none='minutes config init dry-run max-time stop-at threads recompute data eval-interval eval-iters log-interval save-interval
      resume auto-resume allow-corpus-change out-dir overwrite tensorboard sample-tokens temperature'

# Of the others, with the program before them.
uses='
eval lengths 8 | run
eval protocol sliding:4 | run
eval best | worse
eval labels labels | labelled
eval rows 5 | recall
eval items 2 | recall
eval max-tokens 50 | run
eval val-share 0.5 | run text
eval rope-scale linear:4 | run --lengths 64
eval horizon 64 | cosine --lengths 16
eval show 3 | recall
eval seed 2 | recall --show 3
eval precision bf16 | run
analyse length 8 | run
analyse lengths 8,16 | run
analyse windows 3 | run
analyse best | worse
analyse unmask | run
analyse band 2 | run
analyse faint 0.5 | run
analyse tolerance 0.1 | run --unmask
analyse rank 3 | --exponent 8
analyse draws 3 | --exponent 8
analyse seed 3 | --exponent 8
sample prompt int | run
sample prompt-file text | run
sample tokens 20 | run
sample samples 2 | run
sample stop e | run
sample best | worse
sample temperature 0.1 | run
sample top-k 2 | run
sample top-p 0.2 | run
sample min-p 0.5 | run
sample seed 2 | run
sample extrapolate | run
sample raw | run --temperature 2
fill blank X | masked aX___
fill width 2 | masked a___
fill top 2 | masked a___
fill json | masked a___
fill csv | masked a___
fill best | masked-worse a___
classify top 2 | labelled text
classify json | labelled text
classify csv | labelled text
classify best | labelled-worse text
tokenize tokenizer char | text
tokenize run run | text
tokenize text other | text
tokenize ids | text
report prompt int | -o page run
report text other | -o page run
report positions 4 | -o page run --text other
report sample 5 | -o page run
figure x seed | --y loss rows.csv
figure by attn | --x length --y loss rows.csv
figure where seed=1 | --x length --y loss rows.csv
figure tuned seed | --x length --y loss --by attn rows.csv
figure order relu | --x length --y loss --by attn rows.csv
figure table | --x length --y loss --svg page rows.csv
figure latex | --x length --y loss rows.csv
figure digits 1 | --x length --y loss rows.csv
figure counts | --x length --y loss rows.csv
figure best min | --x length --y loss --by attn rows.csv
figure versus relu | --x length --y loss --by attn rows.csv
figure pair width | --x length --y loss --by attn --versus relu rows.csv
figure csv page | --x length --y loss rows.csv
figure log-x | --x length --y loss --svg page rows.csv
figure log-y | --x length --y loss --svg page rows.csv
figure title one | --x length --y loss --svg page rows.csv
figure subtitle one | --x length --y loss --svg page rows.csv
figure x-label one | --x length --y loss --svg page rows.csv
figure y-label one | --x length --y loss --svg page rows.csv
figure line 3:three | --x length --y loss --svg page rows.csv'
uses_none='eval csv svg threads
analyse csv svg plot spectra activations threads exponent
sample batch interactive precision threads
fill threads
classify lines threads
tokenize json check
report threads
figure svg y'

passed=0 failed=0
fail() { failed=$((failed + 1)) && echo "FAILED: $*"; }
losses() { # OPTION...: of a run with these
    rm -rf run
    case $* in *--labels* | *--story-bytes* | *'--task '[!m]* | *'--task mq'*) ;; *) set -- "$@" text ;; esac
    timeout 300 "$root/train" $small --out-dir run "$@" >out 2>&1 || { tail -n 1 out && return 1; }
    sed -n 's/.*"split":"[a-z]*","loss":\([^,]*\),.*/\1/p' run/log.jsonl
}
prints() { # PROGRAM WORD...; times are no results
    program=$1 && shift
    timeout 300 "$root/$program" "$@" >printed 2>out </dev/null || return
    sed 's/ in [0-9.]* s.*//;s/"seconds":[^,]*//' printed
    [ ! -e page ] || { cat page && rm page; }
    ! grep 'attn.c: error:' out
}
compare() { # COMMAND, with the option last or the program first
    first=$1
    while IFS='|' read -r option others; do
        [ $first = losses ] || { program=${option%% *} && option=${option#* }; }
        case $option in *' no') with="--no-${option% no}" ;; *) with="--$option" ;; esac
        if ! $first ${program-} $others >before || ! $first ${program-} $others $with >after; then
            fail "${program-train} $with beside$others: $(tail -n 1 out)"
        elif cmp -s before after || [ ! -s before ] || [ ! -s after ]; then
            fail "${program-train} $with changes nothing"
        else
            passed=$((passed + 1))
        fi
    done
}
listed() { # PROGRAM FILE, with its lines of options; and words for those without an effect
    options=$("$root/$1" --help | sed -n 's/^  --\(\[no-\]\)\{0,1\}\([a-z0-9-]*\).*/\2/p' | grep -v '^version$')
    [ -n "$options" ] || fail "$1 --help has no options"
    for option in $options; do
        grep -q "^${option}[ |]" "$2" || echo $3 | tr ' ' '\n' | grep -qx -e "$option" || fail "$1 --$option is not in tests/effects.sh"
    done
}
echo "$effects" | sed '/^$/d; s/ *|/|/' >rows
compare losses <rows
listed train rows "$none"

trained() { # FOLDER OPTION...
    folder=$1 && shift
    "$root/train" $small --out-dir $folder "$@" >out 2>&1 || fail "train $*: $(tail -n 1 out)"
}
rm -r run
trained run --max-iters 50 text
trained worse --max-iters 20 --eval-interval 1 --lr 10 --warmup-iters 19 text
trained cosine --attn cosformer text
trained masked --task mlm text
trained masked-worse --task mlm --max-iters 20 --eval-interval 1 --lr 10 --warmup-iters 19 text
trained recall --task mqar --symbols 64 --items 3 --block-size 32
trained labelled --task classify --labels labels --labels-val others
trained labelled-worse --task classify --labels labels --labels-val others --max-iters 20 --eval-interval 1 --lr 1
{ # of two mechanisms, lengths and seeds
    echo attn,length,seed,width,loss
    for row in softmax,8,1,5,2.5 softmax,8,2,7,2.75 softmax,64,1,6,1.5 softmax,64,2,8,1.625 \
        relu,8,1,9,3.5 relu,8,2,5,3.25 relu,64,1,7,1.25 relu,64,2,6,1.125; do echo $row; done
} >rows.csv
echo "$uses" | sed '/^$/d; s/ *|/|/' >rows
compare prints <rows
echo "$uses_none" | while read -r program words; do
    sed -n "s/^$program //p" rows >of
    listed $program of "$words"
done >missing
cat missing
failed=$((failed + $(wc -l <missing)))
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
