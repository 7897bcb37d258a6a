#!/bin/sh
# tests/registers.sh OBJECT...: in these objects of ops/kernel/kernel.c, made for x86-64 by any compiler,
# the sums of the loop where most time is spent are in registers. A compiler that does not unroll the loops
# over them keeps them in an array in memory, and a product takes four times as long.
passed=0 failed=0
for object; do
    listing=$(objdump -d --no-show-raw-insn "$object") || exit 1
    adds=$(echo "$listing" | grep -cE 'vfmadd|mulps')
    in_memory=$(echo "$listing" | grep -cE '(vfmadd|mulps).*\(%rsp')
    if [ "$adds" -ge 50 ] && [ "$in_memory" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$object: of $adds multiplications $in_memory take a number from the stack"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
