#!/bin/sh
# Claim C14: the rank of trained attention matrices A and of the scores Q K^T in their exponent, and
# of an exponentiated matrix of rank 1. What ./analyse finds goes to ranks.csv, a row for each head
# and matrix, and one for the mean of all heads.
cd "$(dirname "$0")/../.." || exit 1
name=c14-rank
. experiments/lib/experiment.sh

plan() {
    for attn in softmax gau relu; do
        echo "wikitext-2 c03 256 --task mlm --attn $attn $(model "$attn") $(batch 256) $training"
    done
}

ranks=$folder/ranks.csv
header=attn,seed,row,layer,head,matrix,size,rank,share,effective,holding_90

# Two rows of ours for each row of ./analyse: A, and Q K^T where the mechanism has it.
split() { # ATTN SEED
    awk -v first="$1,$2" '
        BEGIN { FS = OFS = "," }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        function row(matrix, prefix,    rank, size) {
            rank = $at[prefix "rank"]; size = $at["length"]
            if (rank ~ /^[0-9]/)
                print first, $at["row"], $at["layer"], $at["head"], matrix, size, rank, rank / size,
                    $at[prefix "effective"], $at[prefix "holding_90"]
        }
        $at["row"] != "uniform" { row("A", ""); row("QK", "score_") }'
}

also() { # FOLDER OPTIONS
    # shellcheck disable=SC2086 # options are words
    attn=$(value --attn $2) seed=$(value --seed $2)
    patiently ./analyse --threads 1 --csv "$1.ranks" "$1" >/dev/null 2>>"$1.err" || return
    split "$attn" "$seed" <"$1.ranks" >"$1.split"
    lock "$results"
    [ -s "$ranks" ] || echo $header >"$ranks"
    {
        echo $header
        awk -v fresh="$attn,$seed," 'FNR > 1 && index($0, fresh) != 1' "$ranks" | cat - "$1.split" |
            sort -t , -k 1,1 -k 2,2n -k 3,3 -k 4,5n -k 6,6
    } >"$ranks.new" && mv "$ranks.new" "$ranks"
    rm -f "$results.lock"
}

# e^ of random matrices of rank 1, as rows of ours: the rank at NumPy's tolerance, the smallest.
exponents() {
    ./analyse --exponent 100 --csv "$work/exponents" >/dev/null || return
    awk 'BEGIN { FS = OFS = "," }
        FNR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^rank_/) numpy = i; next }
        { print "random", $4, "mean", "", "", $5, $1, $numpy, $numpy / $1, $(NF - 1), $NF }' \
        "$work/exponents"
}

statements() {
    echo "e^ of rank 1 has a rank above 12: random/exp(S)/100 - 12"
    echo "e^ of rank 1 has a rank below 22: 22 - random/exp(S)/100"
    echo "the A of softmax has nine tenths of full rank: softmax/A/256 - 230.4"
    echo "its Q K^T has less than half of full rank: 128 - softmax/QK/256"
    echo "(the A of gau has nine tenths of full rank: gau/A/256 - 230.4)"
    echo "(the Q K^T of gau has less than half of full rank: 128 - gau/QK/256)"
    echo "(the A of relu has less than half of full rank: 128 - relu/A/256)"
}

page() {
    { cat "$ranks" && exponents; } >"$work/chosen.csv" || return
    draw rank.svg --where "row=head" --by attn,matrix --x layer --y share \
        --title "Rank of trained attention" --x-label layer --y-label "rank / 256"
    for y in rank effective holding_90; do
        table --where row=mean --by attn,matrix --x size --y $y | part $y
    done
    means --where row=mean --by attn,matrix --x size --y rank
    statements | judge C14 | part verdict
}

experiment "$@"
