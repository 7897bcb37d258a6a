#!/bin/sh
# experiments/bench/openblas.sh [THREADS...]: gemm against OpenBLAS on every shape of ./bench --only
# gemm, by default with 1 and 2 threads, and OpenBLAS with the kernels that it chooses itself and with
# those for AVX-512, where the processor has it; openblas.csv beside this script has the better. Takes
# about 50 seconds for each number of threads; SECONDS_EACH=1 is quicker.
LC_ALL=C # numbers have decimal points
export LC_ALL
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build
make -s --no-print-directory -f Makefile -f - build/openblas >build/openblas.log 2>&1 <<'END' || {
build/openblas: experiments/bench/openblas.c $(call objects,float,$(wildcard ops/base/*.c ops/kernel/*.c))
	@$(CC) $(filter-out -MMD -MP,$(ALL)) $^ $$(pkg-config --cflags --libs openblas 2>/dev/null || \
	    echo -lopenblas) -lm -o $@
END
    grep -q 'cblas.h\|lopenblas' build/openblas.log || { cat build/openblas.log >&2; exit 1; }
    echo "skipped: OpenBLAS is not here (libopenblas-dev)"
    exit 0
}
kinds=default
grep -q avx512dq /proc/cpuinfo 2>/dev/null && kinds="default SKYLAKEX"
[ $# -gt 0 ] || set -- 1 2
for threads; do
    for kind in $kinds; do
        [ "$kind" = default ] || export OPENBLAS_CORETYPE="$kind"
        build/openblas "$threads" "${SECONDS_EACH:-1.3}"
        unset OPENBLAS_CORETYPE
    done
done >build/openblas.rows
# One row a shape: the faster kernels of OpenBLAS, and our better figure of the same runs.
awk -F, '
    BEGIN { print "product,rows,sum,columns,threads,gflops,openblas_gflops,openblas_kernels,ratio" }
    { shape = $1 "," $2 "," $3 "," $4 "," $5 }
    !(shape in them) { order[++n] = shape }
    $6 > us[shape] { us[shape] = $6 }
    $7 > them[shape] { them[shape] = $7; kernels[shape] = $8 }
    END {
        for (i = 1; i <= n; i++) {
            s = order[i]
            printf "%s,%s,%s,%s,%.2f\n", s, us[s], them[s], kernels[s], us[s] / them[s]
        }
    }' build/openblas.rows | tee experiments/bench/openblas.csv
