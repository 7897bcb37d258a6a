#!/bin/sh
# experiments/table.sh: fills the table of claims in README.md with the verdicts that stand on the
# pages of the experiments. With QUICK or OUT it is a copy that is filled, beside those pages.
cd "$(dirname "$0")/.." || exit 1
OUT=${OUT:-$([ -z "$QUICK" ] && echo experiments || echo build/quick)}
new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT

# "**C3: reproduced.** numbers" -> the last three columns of its row
awk '
    /^\*\*C[0-9]+: / {
        id = substr($1, 3); sub(/:$/, "", id)
        verdict[id] = $0; sub(/^[^ ]* /, "", verdict[id]); sub(/\.\*\*.*/, "", verdict[id])
        numbers[id] = $0; sub(/^.*\.\*\* */, "", numbers[id])
        parts = split(FILENAME, path, "/")
        page[id] = "[" path[parts - 1] "](" path[parts - 1] "/README.md)"
    }
    FILENAME != "experiments/README.md" { next }
    /^\| C[0-9]+ \|/ {
        split($0, column, / \| /)
        id = column[1]; sub(/^\| /, "", id)
        print "| " id " | " column[2] " | " (id in verdict ? verdict[id] : "not run yet") " | " \
            numbers[id] " | " page[id] " |"
        next
    }
    { print }' "$OUT"/*/README.md experiments/README.md >"$new" && cp "$new" "$OUT/README.md"
