#!/bin/sh
# make lint: conventions that a compiler does not check.
LC_ALL=C # numbers have decimal points
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
files=$(git ls-files --cached --others --exclude-standard '*.c' '*.h')
failed=0

complain() {
    printf '%s\n' "$1" >&2
    failed=1
}

if command -v clang-format >/dev/null; then
    # shellcheck disable=SC2086
    clang-format --dry-run -Werror $files || complain "format: run make format"
else
    complain "make lint needs clang-format: apt-get install clang-format"
fi

# Includes are written from the root and point down:
# tools > training > {model, data} > ops > ops/kernel > ops/base.
up=$(awk '
    function floor_of(path, part) {
        split(path, part, "/")
        if (part[1] == "ops") return part[2] == "base" ? 0 : part[2] == "kernel" ? 1 : 2
        if (part[1] == "model" || part[1] == "data") return 3
        if (part[1] == "training") return 4
        if (part[1] == "tools") return 5
        if (part[1] == "tests" || part[1] == "experiments") return 9
        return -1
    }
    /^#include "/ {
        split($0, quoted, "\"")
        split(FILENAME, mine, "/"); split(quoted[2], its, "/")
        from = floor_of(FILENAME); to = floor_of(quoted[2])
        if (to < 0) print FILENAME ":" FNR ": \"" quoted[2] "\" is not written from the root"
        else if (to > from || (to == from && mine[1] != its[1]))
            print FILENAME ":" FNR ": \"" quoted[2] "\" points up or aside"
    }' $files)
[ -z "$up" ] || complain "$up"

# No cycle of includes, where a .c and its .h count as one.
circle=$(awk '
    function module(path) { sub(/\.[ch]$/, "", path); return path }
    { from = module(FILENAME); known[from] }
    /^#include "/ {
        split($0, quoted, "\"")
        to = module(quoted[2])
        if (to != from) edge[from, to]
    }
    # Removes files that depend on nothing or that nothing depends on, until only cycles are left.
    END {
        do {
            gone = 0
            for (m in known) {
                uses = used = 0
                for (e in edge) {
                    split(e, ends, SUBSEP)
                    uses += ends[1] == m
                    used += ends[2] == m
                }
                if (uses && used) continue
                for (e in edge) { split(e, ends, SUBSEP); if (ends[1] == m || ends[2] == m) delete edge[e] }
                delete known[m]
                gone = 1
            }
        } while (gone)
        for (m in known) print m ": in a cycle of includes"
    }' $files)
[ -z "$circle" ] || complain "$circle"

# No file too long to read, and no folder larger than its budget: in lines, or in lines a file where a file is
# a mechanism. Raising one is a commit of its own, which says what the lines buy.
long=$(wc -l $files | awk '$2 != "total" && $1 > ($2 ~ /^tests/ ? 600 : 400) { print $2 ": " $1 " lines" }')
[ -z "$long" ] || complain "$long"
while read -r folder budget each; do
    inside=$(printf '%s\n' $files | grep "^$folder/[^/]*$")
    lines=$(cat $inside | wc -l)
    [ -z "$each" ] || budget=$((budget * $(echo "$inside" | wc -l)))
    [ "$lines" -le "$budget" ] || complain "$folder has $lines lines; its budget is $budget: raise it in tests/lint.sh, in a commit of its own"
done <<END
ops 3960
ops/base 3080
ops/kernel 2660
ops/attention 145 a file
ops/attention/engine 9320
ops/attention/plain 72 a file
model 4700
data 4880
data/synthetic 1430
training 6200
tools 955
tools/common 5230
tools/draw 1100
tools/analyse 1200
tools/attend 790
tools/bench 2450
tools/eval 820
tools/figure 1720
tools/export 420
tools/import 1120
tools/fill 460
tools/gradcheck 720
tools/report 2840
tools/train 2880
tools/lib 1380
END

twice=$(sed -n 's/^    [A-Z0-9_]* = 1 << \([0-9]*\),.*/\1/p' ops/attention.h | sort | uniq -d)
[ -z "$twice" ] || complain "ops/attention.h: two traits are bit $twice"

for file in ops/attention/*.c; do
    grep -q "^ \* Plain twin: plain/${file##*/}\.$" "$file" ||
        complain "$file: the comment at its head does not name its plain twin"
    [ -e "ops/attention/plain/${file##*/}" ] || complain "$file: there is no ops/attention/plain/${file##*/}"
done

# A script that calls a function above its definition goes on without it.
scripts=$(git grep -lI --untracked '^#!/bin/sh' -- tests tools experiments .ci)
early=$(awk '
    FNR == 1 { split("", called) }
    /^[a-z0-9_]+\(\)/ { name = $1; sub(/\(.*/, "", name); if (name in called) print called[name] }
    /^[a-z0-9_]+( |$)/ && !($1 in called) { called[$1] = FILENAME ":" FNR ": " $1 " is not defined yet" }' $scripts)
[ -z "$early" ] || complain "$early"

left=$(grep -nE '\b(TODO|FIXME|XXX)\b' $files)
[ -z "$left" ] || complain "$left"

# Every op is in the table that the tests, ./gradcheck and ./bench loop over.
for op in $(sed -n 's/^Tensor \*\(op_[a-z_]*\)(.*/\1/p' ops/ops.h); do
    grep -q "return $op(" tools/common/op_table.c ||
        complain "tools/common/op_table.c: $op() of ops/ops.h is missing"
done

# A test that is in no suite never runs, and compilers do not notice.
idle=$(awk '
    match($0, /^START_TEST\([a-z0-9_]+/) { test = substr($0, 12, RLENGTH - 11); at[test] = FILENAME ":" FNR }
    /tcase_add/ {
        for (call = $0; call !~ /;/ && (getline more) > 0;) call = call more
        n = split(call, word, /[^a-z0-9_]+/)
        for (i = 1; i <= n; i++) run[word[i]]
    }
    END { for (test in at) if (!(test in run)) print at[test] ": " test " is in no suite" }' tests/*.c)
[ -z "$idle" ] || complain "$idle"

# Numbers of awk and printf have commas in some locales, and sort has an order of its own in each.
for script in $(git ls-files --cached --others --exclude-standard | xargs grep -l '^#!/bin/sh'); do
    ! grep -qE '(awk|sort|printf) ' "$script" || grep -q 'LC_ALL' "$script" || complain "$script: sets no LC_ALL"
done

# Relative links on pages lead to files.
for page in $(git ls-files --cached --others --exclude-standard '*.md'); do
    for link in $(grep -oE '\]\([^):# ]+' "$page" | cut -c3- | grep -vx https); do
        [ -e "$(dirname "$page")/$link" ] || complain "$page: the link to $link is broken"
    done
done

# What a promise is held by is there: tests, and sentences of tests/programs.sh.
for name in $(grep -oE '`[a-z0-9]+(_[a-z0-9]+)+`' doc/promises.md | tr -d '`'); do
    grep -q "START_TEST($name)" tests/*.c || complain "doc/promises.md: there is no test $name"
done
sentences=$(grep -oE '"[a-z-][a-z -]+"' doc/promises.md | tr -d '"')
while read -r sentence; do
    grep -qF -e "$sentence'" -e "$sentence\"" tests/programs.sh || complain "doc/promises.md: no test says $sentence"
done <<END
$sentences
END

bugs=$(OUT=build/bugs sh tests/mutants.sh 2>&1) || complain "$bugs"

if [ ! -x ./train ]; then
    complain "README.md: its table is compared with that of ./train: run make first"
elif ! sh tests/readme.sh | cmp -s - README.md; then
    complain "README.md: generated parts are out of date; run make readme"
fi
exit $failed
