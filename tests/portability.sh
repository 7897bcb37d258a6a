#!/bin/sh
# Other processors and another C library, as far as their compilers and emulators are there: the
# programs are built without a warning, runs go back and forth between them and this machine, and the
# suites of kernels and formats pass. On Debian, for s390x, whose numbers have the big end first:
#
#     apt install gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user
#     dpkg --add-architecture s390x && apt update && apt install check:s390x     for the suites
#
# and so on for arm64 (aarch64), i386 (i686) and riscv64; musl-tools for musl. Called by
# `make portability`; ONLY="s390x musl" tries these alone. The last line says what was left out.
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0 skipped=
suites='base kernel ops activation rope svd json csv safetensors checkpoint saved trained generations
        tokenizer bpe gpt2 corpus stories print tensorboard options settings config folder'

check() { # SENTENCE COMMAND...
    sentence=$1
    shift
    if "$@" >"$dir/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$name: $sentence"
        tail -n 20 "$dir/said"
    fi
}
small="--n-layer 2 --n-embd 16 --n-head 2 --block-size 16 --batch-size 4 --max-iters 20 --eval-iters 2
       --sample-tokens 0 --seed 1"
loss() { awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "loss") n = i } NR == 2 { print $n }' "$1"; }
near() { awk -v a="$(loss "$1")" -v b="$(loss "$2")" 'BEGIN { exit !(a > 1 && a < 9 && (a - b) ^ 2 < 1e-10) }'; }
# The machine whose programs are $run $out/NAME.linked.
pass() { # ATTENTION
    rm -rf "$dir/here" "$dir/there"
    # shellcheck disable=SC2086 # options are words
    {
        check "$1 is trained here" ./train $small --attn "$1" --out-dir "$dir/here" "$dir/text"
        check "and there" $run "$out/train.linked" $small --attn "$1" --out-dir "$dir/there" "$dir/text"
    }
    for made in here there; do
        check "a run made $made is measured here" ./eval "$dir/$made" --csv "$dir/a.csv" --lengths 16
        # shellcheck disable=SC2086
        check "and there" $run "$out/eval.linked" "$dir/$made" --csv "$dir/b.csv" --lengths 16
        check 'as well' near "$dir/a.csv" "$dir/b.csv"
    done
}
try() { # NAME COMPILER ARCH EMULATOR LIBRARIES [FLAGS]
    name=$1 compiler=$2 arch=$3 run=$4 libraries=$5
    [ -z "$ONLY" ] || case " $ONLY " in *" $name "*) ;; *) return ;; esac
    command -v "$compiler" >/dev/null && { [ -z "$run" ] || command -v "$run" >/dev/null; } || {
        skipped="$skipped $name"
        return
    }
    out=build/$compiler-$arch
    flags="-O2 -static -Werror $6"
    check 'the programs are built' make CC="$compiler" ARCH="$arch" CFLAGS="$flags" \
        "$out/train.linked" "$out/eval.linked"
    [ -x "$out/eval.linked" ] || return
    for attn in softmax cosformer gated-delta; do pass $attn; done
    [ -e "$libraries/libcheck.a" ] || {
        skipped="$skipped $name's-suites"
        return
    }
    check 'the tests are built' make CC="$compiler" ARCH="$arch" CFLAGS="$flags" \
        CHECK="-static -L$libraries -lcheck -lsubunit -lrt" "$out/float/check"
    # Emulators do not keep limits of memory, which the suite "file" sets.
    for suite in $suites $([ -n "$run" ] || echo file); do
        # shellcheck disable=SC2086
        check "suite $suite" env CK_TIMEOUT_MULTIPLIER=50 CK_RUN_SUITE="$suite" $run "$out/float/check"
    done
}

head -c 20000 ops/kernel/*.c ops/attention/*.c >"$dir/text" # with the names of files between
try s390x s390x-linux-gnu-gcc z13 qemu-s390x /usr/lib/s390x-linux-gnu
try aarch64 aarch64-linux-gnu-gcc armv8-a qemu-aarch64 /usr/lib/aarch64-linux-gnu
try riscv64 riscv64-linux-gnu-gcc rv64gc qemu-riscv64 /usr/lib/riscv64-linux-gnu
try i686 i686-linux-gnu-gcc pentium4 '' /usr/lib/i386-linux-gnu '-msse2 -mfpmath=sse'
try musl musl-gcc native '' /usr/lib/musl
[ -z "$skipped" ] || echo "left out, as compiler, emulator or library is missing:$skipped"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
