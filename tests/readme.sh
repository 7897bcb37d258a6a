#!/bin/sh
# Prints README.md with the table of attentions as ./train --help has it, the losses that
# experiments/losses has, and the table of experiments/bench/peers.sh.
cd "$(dirname "$0")/.." || exit 1
./train --help | awk '
    FILENAME ~ /results.csv$/ { split($0, row, ","); loss[row[1], row[2]] = row[4]; next }
    FILENAME == "-" {
        if (/^--attn NAME$/) { inside = 1; next }
        if (inside && /^$/) inside = 0
        if (inside && /^  [a-z]/) {
            name = $1; line = $0
            sub(/^ *[^ ]+ */, "", line)
            names[++n] = name; text[n] = line
        } else if (inside) {
            line = $0; sub(/^ */, "", line)
            text[n] = text[n] " " line
        }
        next
    }
    /^<!-- attentions:/ {
        print
        print "| `--attn` | what it is | causal | masked |"
        print "| --- | --- | --- | --- |"
        for (i = 1; i <= n; i++)
            print "| `" names[i] "` | " text[i] " | " loss[names[i], "causal"] " | " \
                loss[names[i], "mlm"] " |"
        skip = 1
        next
    }
    /^<!-- peers:/ {
        print
        while (("sh experiments/bench/table.sh" | getline line) > 0) print line
        skip = 1
        next
    }
    /^<!-- end -->/ { skip = 0 }
    !skip' experiments/losses/results.csv - README.md
