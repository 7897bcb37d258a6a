# What stands on an experiment's page between `<!-- PART: ... -->` and `<!-- end -->` is made from
# the rows of $work/chosen.csv by ./figure and verdict.awk.
# shellcheck shell=sh disable=SC2154 # of experiment.sh

part() { # NAME: stdin takes the place of that part of the page
    cat >"$work/part"
    awk -v begin="<!-- $1:" -v part="$work/part" '
        index($0, begin) == 1 {
            print
            while ((getline line <part) > 0) print line
            within = found = 1
        }
        $0 == "<!-- end -->" { within = 0 }
        !within
        END { exit !found }' "$folder/README.md" >"$work/page" || stop "its page has no part $1"
    cp "$work/page" "$folder/README.md"
}

# A picture in the experiment's folder; a table; the means that judge() reads, of all seeds and of each.
draw() { # NAME.svg OPTION...
    picture=$folder/$1
    shift
    ./figure --svg "$picture" "$@" "$work/chosen.csv"
}
table() { ./figure --table "$@" "$work/chosen.csv"; }
means() {
    ./figure --csv "$work/means.csv" "$@" "$work/chosen.csv" >/dev/null || return
    ./figure --csv "$work/seeds.csv" "$@" --by seed "$work/chosen.csv" >/dev/null
}

# The verdict on a claim: statements are on stdin, numbers in the means. Its first line is also
# what experiments/README.md says.
judge() { # CLAIM
    awk -v claim="$1" -v seeds=3 -v by_seed="$work/seeds.csv" -f experiments/lib/verdict.awk \
        "$work/means.csv" "$work/seeds.csv" -
}

make_page() {
    left=$(plan | while IFS= read -r line; do with left_of "$line"; done | wc -l)
    if [ "$left" -gt 0 ]; then
        echo "$name: $((left)) runs are still missing, in this part or in others: no page is made"
        return
    fi
    [ "$OUT" = experiments ] || cp "experiments/$name/README.md" "$folder/README.md"
    chosen_rows >"$work/chosen.csv"
    page || stop "the page was not made"
    echo "$folder/README.md is made"
}
left_of() { runs_of "$@" | all_missing "$1" "$3"; }
