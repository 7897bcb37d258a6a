#!/bin/sh
# The shares of lines and branches that ran, a row for each folder, from the counters of gcc's
# --coverage in the folder $1. Called by `make coverage` after the tests. FILES=1: a row for each
# file. Branches are those of the source, without what the compiler adds for calls.
LC_ALL=C # numbers have decimal points
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
find "$1/float" -name '*.gcno' ! -path '*/tests/*' | while IFS= read -r notes; do
    gcov -b -n -o "$(dirname "$notes")" "$notes" 2>/dev/null
done | awk -v files="${FILES:-0}" '
    /^File / { file = $0; gsub(/^File .|.$/, "", file); place = file; if (!files) sub(/\/[^\/]*$/, "", place) }
    file !~ /\.c$/ || file ~ /^\// { next }
    /^Lines executed:/ { take(line, lines) }
    /^Taken at least once:/ { take(branch, branches) }
    function take(ran, all,    f) {
        split($0, f, /[:% ]+/)
        n = $NF; share = $0; sub(/^[^:]*:/, "", share); sub(/%.*/, "", share)
        ran[place] += n * share / 100; all[place] += n
        if (place != "") seen[place]
    }
    function row(name, l, ls, b, bs) {
        return sprintf("%-28s %6d lines %6.1f%%   %6d branches %6.1f%%", name, ls, 100 * l / (ls ? ls : 1), bs, bs ? 100 * b / bs : 100)
    }
    END {
        for (p in seen) {
            print row(p, line[p], lines[p], branch[p], branches[p]) | "sort"
            l += line[p]; ls += lines[p]; b += branch[p]; bs += branches[p]
        }
        close("sort")
        print row("all", l, ls, b, bs)
        exit !(ls > 0 && l >= 0.95 * ls && b >= 0.90 * bs)
    }'
