#!/bin/sh
# experiments/bench/openblas.sh [THREADS...]: gemm against OpenBLAS on every shape of ./bench --only
# gemm, with 1 and 2 threads unless told, and OpenBLAS with the kernels that it chooses itself and
# with those for AVX-512, where the processor has it; openblas.csv beside this script has the better.
# Takes about 50 seconds for a number of threads. SECONDS_EACH=1 is quicker.
set -eu
cd "$(dirname "$0")/../.."
rows=experiments/bench/openblas.csv
program=build/openblas
seconds=${SECONDS_EACH:-1.3}
: "${CC:=cc}"

flags=$(pkg-config --cflags --libs openblas 2>/dev/null || echo -lopenblas)
mkdir -p build
objects=
for name in arena error gemm kernel machine pool random text transpose; do
    objects="$objects ops/$name.c"
done
# The flags are the Makefile's.
make -s --no-print-directory -f Makefile -f - openblas-flags CC="$CC" >build/openblas.flags <<'END'
openblas-flags:
	@echo $(filter-out -MMD -MP,$(ALL))
END
# shellcheck disable=SC2046,SC2086 # words
if ! $CC $(cat build/openblas.flags) experiments/bench/openblas.c $objects $flags -lm -o $program \
    2>build/openblas.log; then
    grep -q 'cblas.h\|lopenblas' build/openblas.log || { cat build/openblas.log >&2; exit 1; }
    echo "skipped: OpenBLAS is not here (libopenblas-dev)"
    exit 0
fi
kinds=default
grep -q avx512dq /proc/cpuinfo 2>/dev/null && kinds="default SKYLAKEX"
[ $# -gt 0 ] || set -- 1 2
for threads; do
    for kind in $kinds; do
        [ "$kind" = default ] || export OPENBLAS_CORETYPE="$kind"
        $program "$threads" "$seconds"
        unset OPENBLAS_CORETYPE
    done
done >build/openblas.rows
# One row a shape: the faster kernels of OpenBLAS, and our better figure of the same runs.
{
    echo "product,rows,sum,columns,threads,gflops,openblas_gflops,openblas_kernels,ratio"
    awk -F, '{
        shape = $1 "," $2 "," $3 "," $4 "," $5
        if (!(shape in them)) order[++n] = shape
        if ($6 > us[shape]) us[shape] = $6
        if ($7 > them[shape]) { them[shape] = $7; kernels[shape] = $8 }
    } END {
        for (i = 1; i <= n; i++) {
            s = order[i]
            printf "%s,%s,%s,%s,%.2f\n", s, us[s], them[s], kernels[s], us[s] / them[s]
        }
    }' build/openblas.rows
} | tee $rows
