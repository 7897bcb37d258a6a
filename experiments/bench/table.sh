#!/bin/sh
# Prints the table of README.md that results.csv beside this script makes: tokens a second, ours over
# PyTorch's, and peak memory, ours over PyTorch's.
awk -F, '
    function shown(name, what) {
        if (!((name, what) in speed)) return "-"
        return speed[name, what] " (" memory[name, what] ")"
    }
    FNR == 1 { next }
    { seen[$1] = 1 }
    $5 > 0 && $7 > 0 {
        what = $2 $3
        speed[$1, what] = sprintf("%.1f", $5 / $7)
        memory[$1, what] = sprintf("%.2f", $6 / $8)
    }
    END {
        print "| `--attn` | 8 x 512 | 8 x 512, bidirectional | 1 x 4,096 | 1 x 16,384 |"
        print "| --- | --- | --- | --- | --- |"
        n = split("softmax relu elu exp cosformer performer fastformer gau", names, " ")
        for (i = 1; i <= n; i++)
            if (names[i] in seen)
                print "| `" names[i] "` | " shown(names[i], "causal512") " | " \
                    shown(names[i], "bidirectional512") " | " shown(names[i], "causal4096") \
                    " | " shown(names[i], "causal16384") " |"
    }' "$(dirname "$0")/results.csv"
