#!/bin/sh
# Plants the bugs of tests/mutants.txt, one at a time, in the proof build, and
# runs the tests until one fails. Called by `make mutants`: arguments are the check
# program and its objects, the environment has CC, FLAGS, LIBS, OUT (a folder),
# JOBS (default: one a processor), ONLY (numbers or files, default: all) and PART
# (2/3: of these every third, from the second on). Without arguments, as make lint
# calls it, it plants them and no more: each must have its place.
# Each source is copied with all its bugs in it:
#
#     #if MUTANT == 3
#     #line 75 "ops/norm.c"
#             dx[c] = ... wrong ...
#     #else
#     #line 75 "ops/norm.c"
#             dx[c] = ... right ...
#     #endif
set -eu

# Writes the copies to $OUT, and "number:file: description" of each bug to $OUT/list.
plant()
{
    awk -v out="$OUT" '
    function stop(why) { print FILENAME ":" FNR ": " why >"/dev/stderr"; failed = 1; exit 1 }
    function times(line, text,    n, at) {
        for (n = 0; (at = index(line, text)) > 0; n++) line = substr(line, at + 1)
        return n
    }
    function put(directive, row, line) {
        print directive "\n#line " row " \"" source "\"\n" line >to
    }
    function copy(    line, at, i, planted, row) {
        for (row = 1; (getline line <source) > 0; row++) {
            planted = 0
            for (i = 1; i <= n; i++)
                if (file[i] == source && times(line, right[i])) {
                    found[i] += times(line, right[i])
                    at = index(line, right[i])
                    put((planted++ ? "#elif" : "#if") " MUTANT == " i, row,
                        substr(line, 1, at - 1) wrong[i] substr(line, at + length(right[i])))
                }
            put(planted ? "#else" : "", row, line (planted ? "\n#endif" : ""))
        }
    }
    /^#/ || /^$/ { next }
    /^- ./ && n && !(n in right) { right[n] = substr($0, 3); next }
    /^\+/ && (n in right) && !(n in wrong) { wrong[n] = substr($0, 3); next }
    !/^[a-z_\/]+\.c: ./ || (n && !(n in wrong)) { stop("not what is expected here") }
    { place[++n] = FNR; file[n] = substr($0, 1, index($0, ":") - 1); print n ":" $0 >(out "/list") }
    END {
        if (failed) exit 1
        if (!(n in wrong)) stop("the last bug is not complete")
        for (j = 1; j <= n; j++)
            if (!copied[file[j]]++) {
                source = to = file[j]
                gsub("/", "-", to); to = out "/" to
                copy()
            }
        for (j = 1; j <= n; j++)
            if (found[j] != 1) {
                print FILENAME ":" place[j] ": \"" right[j] "\" is in " file[j] " " found[j] + 0 \
                    " times, not once" >"/dev/stderr"
                failed = 1
            }
        exit failed
    }' tests/mutants.txt
}

# The first test of program $1 that fails, or nothing; the suites called $2 go first, and those of
# ./attend and ./export stay out: they would find any change by comparing with a program that has
# none. A test is printed when it has ended, so the end of sed ends the rest. (awk may wait for more
# to read.)
first_failing()
{
    others=$(sed -n '/attend/d; /export/d; s/^Suite \*suite_\([a-z_]*\).*/\1/p' tests/suites.h)
    for suite in $2 $others; do
        failing=$(CK_RUN_SUITE=$suite CK_VERBOSITY=silent CK_TAP_LOG_FILE_NAME=- \
            CK_DEFAULT_TIMEOUT=60 "$1" 2>/dev/null | # a busy machine is no failure
            sed '/^not ok/q' | awk -F: '/^not ok/ { print $3 }
                                        /^not ok/ || /^[0-9]+\.\.[0-9]+/ { seen = 1 }
                                        END { if (!seen) print "the end of the program" }')
        [ -z "$failing" ] || break
    done
    echo "$failing"
}

compile() { # copy $1 with bug $2 to object $3
    $CC $FLAGS -g0 -w -DMUTANT="$2" -c "$OUT/$1.c" -o "$3"
}

right() { # copy $1 without a bug, once
    [ -e "$OUT/$1.right.o" ] ||
        { compile "$1" 0 "$OUT/$job.right.o" && mv "$OUT/$job.right.o" "$OUT/$1.right.o"; }
}

# Tries bug $1 of file $2; its verdict is the name of the file $OUT/$1.caught or $OUT/$1.missed.
try()
{
    me=$OUT/$1 name=$(echo "${2%.c}" | tr / -) verdict=missed by="DOES NOT LINK"
    if ! compile "$name" "$1" "$me.o"; then
        by="DOES NOT COMPILE"
    elif right "$name" && cmp -s "$me.o" "$OUT/$name.right.o"; then
        by="CHANGES NOTHING"
    elif $CC $FLAGS $(echo "$objects" | sed "s|[^ ]*/proof/${2%.c}\.o|$me.o|") $LIBS -o "$me"; then
        own=$(basename "$2" .c)
        by=$(first_failing "$me" "${own%%_*} $(basename "$(dirname "$2")")")
        [ -z "$by" ] || verdict=caught
    fi
    rm -f "$me" "$me.o"
    echo "$1" >"$me.$verdict"
    printf '%3d %s:%s: %s\n' "$1" "$2" "$3" "${by:-SURVIVED}"
}

rm -rf "$OUT" && mkdir -p "$OUT"
plant
[ $# -gt 0 ] || exit 0
part=${PART:-1/1}
check=$1 jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)} job=0
shift
objects=$*
failing=$([ -n "${ONLY:-}" ] || first_failing "$check" ops)
[ -z "$failing" ] || { echo "without any mutant, $failing fails" >&2; exit 1; }
while [ $((job += 1)) -le "$jobs" ]; do
    while IFS=: read -r number file about; do
        case " ${ONLY:-$number} " in
        *" $number "* | *" $file "*)
            [ $((number % ${part#*/})) -ne $((${part%/*} % ${part#*/})) ] ||
                [ $((number / ${part#*/} % jobs + 1)) -ne $job ] || try "$number" "$file" "$about" ;;
        esac
    done <"$OUT/list" &
done
wait
caught=$(find "$OUT" -name '*.caught' | wc -l) missed=$(find "$OUT" -name '*.missed' | wc -l)
echo "$((caught + missed)) mutants, $((caught)) caught"
[ "$caught" -gt 0 ] && [ "$missed" -eq 0 ]
