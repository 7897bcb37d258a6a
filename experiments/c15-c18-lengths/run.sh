#!/bin/sh
# Claims C15 to C18: the divisors of a gated unit's rows, trained at one length and at several, and
# tested from a quarter of it to sixteen times.
cd "$(dirname "$0")/../.." || exit 1
name=c15-c18-lengths
. experiments/lib/experiment.sh

norms="n fixed n2 sum softmax entropy logn"
unit=$(full "--n-layer 2 --n-embd 128" "--n-layer 1 --n-embd 12 --key-size 8")

plan() {
    for norm in $norms; do
        base=$(case $norm in fixed | entropy | logn) echo " --base 64" ;; esac)
        for batches in "$(batch 64)" "$(batch 256) --lengths 16,32,64,128,256"; do
            echo "wikitext-2 $gated_rates 64,16,32,128,256,512,1024 --task mlm --attn gau --norm $norm$base $unit $batches $training"
        done
    done
}

# The chosen rows, and for each run its mean accuracy at all lengths but 64, and at those above.
with_means() {
    cat "$work/chosen.csv"
    awk -F '"' -v OFS='"' '
        FNR == 1 { next }
        {
            split($1, column, ",")
            length_ = column[11]; accuracy = column[15]
            if (length_ != 64) { elsewhere[$2] += accuracy / 6; row[$2] = $1 }
            if (length_ > 64) beyond[$2] += accuracy / 4
        }
        function put(options, where, mean,    column, columns, i, line) {
            columns = split(row[options], column, ",")
            column[11] = where; column[15] = mean
            for (i = 1; i < columns; i++) line = line column[i] ","
            print line, options, ""
        }
        END {
            for (options in row) {
                put(options, "elsewhere", elsewhere[options])
                put(options, "beyond", beyond[options])
            }
        }' "$work/chosen.csv"
}

better() { echo "$1 is better than $2 at other lengths: $1/64/elsewhere - $2/64/elsewhere"; }

c15() {
    echo "n loses a quarter of its accuracy at 512: 3/4 n/64/64 - n/64/512"
    better fixed n
    echo "(fixed is better than n at 16: fixed/64/16 - n/64/16)"
    echo "(fixed is better than n at 1024: fixed/64/1024 - n/64/1024)"
}
c16() {
    for norm in $norms; do
        case $norm in n) open='' close='' ;; *) open='(' close=')' ;; esac
        echo "${open}mixed lengths help $norm at the others: $norm/mixed/elsewhere - $norm/64/elsewhere$close"
    done
    echo "with them n keeps three quarters of its accuracy at 512: n/mixed/512 - 3/4 n/mixed/64"
}
c17() {
    better sum n
    better softmax sum
    better entropy softmax
    echo "(logn is better than softmax at other lengths: logn/64/elsewhere - softmax/64/elsewhere)"
}
c18() {
    echo "entropy costs less than half a point at 64: entropy/64/64 - softmax/64/64 + 0.005"
    echo "entropy is better than softmax beyond 64: entropy/64/beyond - softmax/64/beyond"
}

page() {
    for trained in 64 mixed; do
        draw $trained.svg --where trained=$trained --by norm --x length --y accuracy --log-x \
            --title "Masked bytes that are right, trained at $trained" \
            --x-label "length tested (bytes)" --y-label accuracy
        for y in accuracy loss; do
            table --where trained=$trained --by norm --x length --y $y | part $y-$trained
        done
    done
    ./figure --table --where seed=1,length=64 --by norm,trained --x rate --y loss "$results" |
        part rates
    with_means >"$work/means"
    mv "$work/means" "$work/chosen.csv"
    means --by norm,trained --x length --y accuracy
    for claim in 15 16 17 18; do c$claim | judge C$claim; done | part verdict
}

experiment "$@"
