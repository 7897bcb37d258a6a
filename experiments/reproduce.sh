#!/bin/sh
# experiments/reproduce.sh: runs what is missing of every experiment, and says first how long that
# takes. `make reproduce` calls it; lib/experiment.sh says what the environment may ask for.
cd "$(dirname "$0")/.." || exit 1
TIMES=$(mktemp) || exit 1
export TIMES
trap 'rm -f "$TIMES" "$TIMES.sums"' EXIT
trap '[ -z "$child" ] || { kill $child; wait $child; }; exit 130' HUP INT PIPE TERM
child=
[ -z "$QUICK" ] || rm -rf build/quick

all="c03-perplexity c13-length c14-rank c15-c18-lengths stories" # the others take rates of the first
for name in $all; do
    "experiments/$name/run.sh" --estimate || exit
done | tee "$TIMES.sums"
[ "$(wc -l <"$TIMES.sums")" -eq "$(echo "$all" | wc -w)" ] || exit 1
awk '{ runs += $2; tokens += $4; minutes += 60 * $7 + $9 }
     END { printf "all: %d runs, %.1f M tokens, about %d h %02d min\n",
                  runs, tokens, minutes / 60, minutes % 60 }' "$TIMES.sums"
for name in $all; do
    "experiments/$name/run.sh" & # waited for, so that a signal to this shell reaches it at once
    child=$!
    wait $child || exit
done
child=
experiments/table.sh
