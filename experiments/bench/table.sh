#!/bin/sh
# experiments/bench/table.sh [FILE]: the table that rows of peers.sh make, by default those of
# results.csv beside this script, for README.md: tokens a second, ours over PyTorch's, and peak
# memory, ours over PyTorch's.
LC_ALL=C # numbers have decimal points
export LC_ALL
awk -F, '
    FNR == 1 { next }
    { seen[$1]; cell[$1, $2 $3] = "-" }
    $5 > 0 && $7 > 0 { cell[$1, $2 $3] = sprintf("%.1f (%.2f)", $5 / $7, $6 / $8) }
    END {
        print "| `--attn` | 8 x 512 | 8 x 512, bidirectional | 1 x 4,096 | 1 x 16,384 |"
        print "| --- | --- | --- | --- | --- |"
        n = split("softmax relu elu exp cosformer performer fastformer gau", name, " ")
        m = split("causal512 bidirectional512 causal4096 causal16384", what, " ")
        for (i = 1; i <= n; i++) if (name[i] in seen) {
            line = "| `" name[i] "` |"
            for (j = 1; j <= m; j++) line = line " " ((name[i], what[j]) in cell ? cell[name[i], what[j]] : "-") " |"
            print line
        }
    }' "${1:-$(dirname "$0")/results.csv}"
