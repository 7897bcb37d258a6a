#!/bin/sh
# Plants bugs in the proof build, one at a time, and runs the tests until one fails. Bugs are
# written by hand in tests/mutants/, a file for each source, or made by tests/mutants/generate.awk.
# Called by `make mutants`: arguments are the objects of the tests; CC, FLAGS, LIBS and OUT (a
# folder) come from the environment, and so do
#
#     ONLY     ids, source files or folders   default: all
#     PART     2/3: every third of these, from the second on
#     SEED     any text: in random order      default: in the order of the files
#     BUDGET   start no new bug after this number of seconds
#     JOBS     default: the number of processors
#
# Without arguments, as make lint calls it, it only checks that each bug has its place.
LC_ALL=C # numbers have decimal points
export LC_ALL
set -eu
# The sources that get mechanical bugs; not the plain attentions, with which the tests compare.
computing()
{
    find ops model -name '*.c' ! -path 'ops/base/*' ! -path 'ops/attention/plain/*' | sort
    for optimiser in training/optimiser*.c training/adamw.c training/lion.c training/muon.c \
        training/sgd.c; do
        [ ! -e "$optimiser" ] || echo "$optimiser"
    done
}

# Writes all bugs to $OUT/all: source, row, id, description, the row with the bug in it.
list_bugs()
{
    : >"$OUT/suites" && : >"$OUT/excepted" && wrong=0
    # shellcheck disable=SC2046
    awk -v sources="$(find ops model data training tools -name '*.c' | tr '\n' ' ')" \
        -v suites="$OUT/suites" -v excepted="$OUT/excepted" -f tests/mutants/find.awk \
        $(find tests/mutants -name '*.txt' | sort) >"$OUT/all" || wrong=1
    # shellcheck disable=SC2046
    awk -f tests/mutants/generate.awk $(computing) >"$OUT/generated"
    awk -F '\t' -v list="$OUT/excepted" '
        function is(id, pattern) {
            return sub(/\*$/, "", pattern) ? index(id, pattern) == 1 : id == pattern
        }
        BEGIN { while ((getline line <list) > 0) { split(line, f, "\t"); at[f[1]] = f[2] } }
        { for (p in at) if (is($3, p)) { used[p] = 1; next } print }
        END {
            for (p in at) if (!(p in used)) {
                print at[p] ": no generated bug is called " p >"/dev/stderr"
                failed = 1
            }
            exit failed
        }' "$OUT/generated" >>"$OUT/all" || wrong=1
    for suite in $(cut -s -d ' ' -f 2- "$OUT/suites"); do
        grep -qE "(ROW|ONCE)\($suite\)" tests/suites.h ||
            { echo "tests/mutants: there is no suite called $suite" >&2 && wrong=1; }
    done
    return $wrong
}

# Those of $OUT/all that are asked for, in the order in which to try them.
select_bugs()
{
    awk -F '\t' -v only="${ONLY:-}" -v part="${PART:-1/1}" -v seed="${SEED:-}" '
        function asked(    i) {
            for (i = 1; i <= n; i++)
                if ($1 == name[i] || $3 == name[i] || index($3, name[i] "/") == 1) return 1
            return !n
        }
        function place(id,    i) { # by a hash, so that new bugs leave the order of the others as it is
            id = seed "/" id
            for (state = i = 1; i <= length(id); i++)
                state = (state * 16807 + index(letters, substr(id, i, 1))) % 2147483647
            return state * 48271 % 2147483647 * 48271 % 2147483647
        }
        BEGIN {
            n = split(only, name, " ")
            for (i = 1; i <= n; i++) sub(/\/$/, "", name[i])
            split(part, of, "/")
            letters = "0123456789abcdefghijklmnopqrstuvwxyz-_/"
        }
        asked() && ++count % of[2] == of[1] % of[2] {
            printf "%d\t%s\n", seed == "" ? count : place($3), $0
        }' "$OUT/all" | sort -n -k 1,1 | cut -f 2-
}

# The first test of program $1 that fails in the suites $2, as "suite: test", or nothing.
first_failing()
{
    mkfifo "$1.tap"
    for suite in $(echo "$2" | tr -s ' ' '\n' | awk 'NF && !seen[$1]++'); do
        CK_RUN_SUITE=$suite CK_TIMEOUT_MULTIPLIER=0.1 CK_VERBOSITY=silent CK_TAP_LOG_FILE_NAME=- "$1" \
            >"$1.tap" 2>/dev/null &
        failing="the end of the program"
        while IFS= read -r line; do
            case $line in
            "not ok"*)
                failing=$(echo "$line" | cut -d : -f 3)
                kill -ALRM $! 2>/dev/null || true # Check ends the test at work, and then itself
                break
                ;;
            [0-9]*..*) failing= ;; # the last line
            esac
        done <"$1.tap"
        wait $! 2>/dev/null || true
        [ -z "$failing" ] || { echo "$suite: $failing" && break; }
    done
    rm -f "$1.tap"
}

# The suites in the order in which they run for $source: those that its list of bugs names, those
# called like the source or a folder of its path, all others. The suites of ./attend and ./export
# are left out: they compare with a program without bugs, and so would notice any change.
suites()
{
    sed -n "s|^$source ||p" "$OUT/suites"
    echo "${source%.c}" |
        awk -F / '{ for (i = NF; i > 0; i--) { word = $i; sub(/_.*/, "", word); print $i, word } }'
    echo "$others"
}

# Compiles $source, with $line for its row $row, to object $1. It comes from a pipe, so that the
# same code makes the same object; at -O1, since that compiles in half the time.
compile()
{
    # shellcheck disable=SC2086
    LINE=$line awk -v row="$row" -v source="$source" '
        NR == 1 { print "#line 1 \"" source "\"" }
        NR == row { $0 = ENVIRON["LINE"] }
        { print }' "$source" | $CC $FLAGS -O1 -g0 -w -x c -c - -o "$1" 2>/dev/null
}

link() # $objects, stripped, to program $1
{
    # shellcheck disable=SC2086
    $CC $FLAGS -s $objects $LIBS -o "$1"
}

# The object of $source without a bug, compiled once.
right()
{
    right=$OUT/right/${source%.c}.o
    [ -e "$right" ] || {
        mkdir -p "$(dirname "$right")" && (row=0 && compile "$me.right") && mv "$me.right" "$right"
    }
    echo "$right"
}

# Tries the bug $source, $row, $id, $what, $line and puts its verdict into the file $me.
try()
{
    verdict=missed by=
    object=$(echo "$objects" | tr ' ' '\n' | grep "/proof/${source%.c}\.o\$") ||
        by="IS NOT IN THE TESTS"
    if [ -n "$by" ]; then
        :
    elif ! compile "$me.o"; then
        by="DOES NOT COMPILE"
    elif cmp -s "$me.o" "$(right)"; then
        by="CHANGES NOTHING"
    else
        (objects=$(echo "$objects" | sed "s|$object|$me.o|") && link "$me.bin")
        by=$(first_failing "$me.bin" "$(suites)")
        [ -z "$by" ] || verdict=caught
    fi
    case $verdict$id in
    missed"${source%.c}"/*/*) [ -z "$by" ] || verdict=skipped ;; # a generated one
    esac
    rm -f "$me.o" "$me.bin"
    echo "${by%%:*}" >"$me.$verdict"
    [ $verdict = skipped ] || echo "$id: ${by:-SURVIVED}"
    [ $verdict != missed ] || printf '    %s\n    %s:%s: %s\n' "$what" "$source" "$row" "$line"
}

others=$(sed -n '/ROW(attend)/d; /ROW(members)/d; /ROW(export)/d; s/^ *\(ROW\|ONCE\)(\([a-z0-9]*\)).*/\2/p' tests/suites.h)
[ -n "$others" ] || { echo "tests/suites.h: no suite found" >&2 && exit 1; }
rm -rf "$OUT" && mkdir -p "$OUT"
list_bugs || [ -n "${ONLY:-}" ] # those asked for may be in their places
[ $# -gt 0 ] || exit 0
objects=$*
select_bugs >"$OUT/selected"
[ -s "$OUT/selected" ] || { echo "ONLY=${ONLY:-}: no bug has that id, source file or folder, such as ops/attention/relu.c" >&2 && exit 1; }
start=$(date +%s) job=0 tab=$(printf '\t')
while [ $((job += 1)) -le "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" ]; do
    number=0
    while IFS=$tab read -r source row id what line; do
        me=$OUT/$((number += 1))
        [ -z "${BUDGET:-}" ] || [ $(($(date +%s) - start)) -lt "$BUDGET" ] || break
        (set -C && : >"$me") 2>/dev/null || continue # another job has it
        try
    done <"$OUT/selected" &
done
wait
count()
{
    find "$OUT" -name "*.$1" | wc -l
}
caught=$(count caught) missed=$(count missed) skipped=$(count skipped)
tried=$((caught + missed + skipped)) selected=$(($(wc -l <"$OUT/selected")))
[ -n "${BUDGET:-}" ] || [ $tried -eq $selected ] || { echo "only $tried of $selected bugs have a verdict" >&2 && exit 1; }
if [ -z "${ONLY:-}${PART:-}" ]; then # what notices bugs must pass without one
    for object in $(cd "$OUT/right" && find . -name '*.o'); do
        objects=$(echo "$objects" | tr ' ' '\n' |
            sed "s|.*/proof/${object#./}\$|$OUT/right/$object|")
    done
    link "$OUT/right/check"
    failing=$(first_failing "$OUT/right/check" "$(cat "$OUT"/*.caught)")
    [ -z "$failing" ] || { echo "without a bug, $failing" >&2 && exit 1; }
fi
echo "$tried of $selected bugs tried:" \
    "$((caught)) caught, $((missed)) not, $((skipped)) without effect"
[ "$caught" -gt 0 ] && [ "$missed" -eq 0 ]
