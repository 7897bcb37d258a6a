#!/bin/sh
# make lint: the habits of the house that a compiler does not check.
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

left=$(grep -nE '\b(TODO|FIXME|XXX)\b' $files)
[ -z "$left" ] || complain "$left"

# Every op is in the table that the tests, ./gradcheck and ./bench loop over.
for op in $(sed -n 's/^Tensor \*\(op_[a-z_]*\)(.*/\1/p' ops/ops.h); do
    grep -q "return $op(" tools/common/op_table.c ||
        complain "tools/common/op_table.c: $op() of ops/ops.h is missing"
done

bugs=$(OUT=build/bugs sh tests/mutants.sh 2>&1) || complain "$bugs"

if [ -x ./train ] && ! sh tests/readme.sh | cmp -s - README.md; then
    complain "README.md: its table is not the program's; run make readme"
fi
exit $failed
