"""Attention with gradients, and the logits of a checkpoint, through ctypes.

    python3 attention.py [CHECKPOINT]

attention() takes NumPy arrays as well, contiguous float32 of any shape, and numpy.ctypeslib.as_array() makes arrays of
what it returns. The library is that of the environment variable ATTNC_LIB, or an installed one, or that of `make lib`.
"""
import ctypes as c
import glob
import math
import os
import sys

FLOATS = c.POINTER(c.c_float)


def load():
    made = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "*-native", "libattnc.so.0")
    try:
        return c.CDLL(os.environ.get("ATTNC_LIB", "libattnc.so.0"))
    except OSError:
        if "ATTNC_LIB" in os.environ or not glob.glob(made):
            raise
        return c.CDLL(glob.glob(made)[0])


lib = load()
lib.attnc_error.restype = lib.attnc_version.restype = c.c_char_p
lib.attnc_attention_new.restype = lib.attnc_model_open.restype = c.c_void_p
lib.attnc_attention_new.argtypes = [c.c_char_p]
lib.attnc_attention_shape.argtypes = [c.c_void_p] + 5 * [c.c_int]
lib.attnc_attention_bind.argtypes = [c.c_void_p, c.c_char_p, FLOATS, FLOATS]
lib.attnc_attention_forward.argtypes = [c.c_void_p, c.POINTER(c.c_int), FLOATS]
lib.attnc_attention_backward.argtypes = [c.c_void_p, FLOATS]
lib.attnc_attention_operand.argtypes = [c.c_void_p, c.c_int, c.POINTER(c.c_int)]
lib.attnc_attention_operand.restype = c.c_char_p
lib.attnc_attention_free.argtypes = lib.attnc_model_free.argtypes = [c.c_void_p]
lib.attnc_model_open.argtypes = [c.c_char_p, c.c_char_p]
lib.attnc_model_number.argtypes = [c.c_void_p, c.c_char_p]
lib.attnc_model_number.restype = c.c_longlong


class Batch(c.Structure):
    _fields_ = [("B", c.c_int), ("T", c.c_int)] + [
        (name, c.POINTER(c.c_int)) for name in ("id", "target", "length")]


lib.attnc_model_logits.argtypes = [c.c_void_p, c.POINTER(Batch), FLOATS]


def check(ok):
    if not ok:
        raise RuntimeError(lib.attnc_error().decode())
    return ok


def floats(x):
    """x as a ctypes array, without a copy."""
    if isinstance(x, c.Array):
        return x
    if memoryview(x).format != "f":
        raise TypeError(f"{x.dtype} is not float32")
    return (c.c_float * x.size).from_buffer(x)


def sizes(a):
    """The names of the operands, and how many numbers each has."""
    dim, i = (c.c_int * 4)(), 0
    while name := lib.attnc_attention_operand(a, i, dim):
        yield name.decode(), math.prod(n for n in dim if n)
        i += 1


def attention(options, B, N, H, d, arrays, g):
    """The output for {"q": ..., "k": ..., "v": ...}, and gradients of the sum of g * output."""
    arrays, g = {name: floats(x) for name, x in arrays.items()}, floats(g)
    a = check(lib.attnc_attention_new(options.encode()))
    try:
        check(lib.attnc_attention_shape(a, B, N, H, d, d) == 0)
        given = [(name, arrays[name], size) for name, size in sizes(a) if name in arrays]
        for name, x, size in [*given, ("the gradient", g, B * N * H * d)]:
            if len(x) != size:
                raise ValueError(f"{name} has {len(x)} numbers instead of {size}")
        grads = {name: (c.c_float * len(x))() for name, x in arrays.items()}
        for name, x in arrays.items():
            check(lib.attnc_attention_bind(a, name.encode(), x, grads[name]) == 0)
        out = (c.c_float * len(g))()
        check(lib.attnc_attention_forward(a, None, out) == 0)
        check(lib.attnc_attention_backward(a, g) == 0)
        return out, grads
    finally:
        lib.attnc_attention_free(a)


def main():
    B, N, H, d = 2, 20, 2, 8
    n = B * N * H * d
    arrays = {name: (c.c_float * n)(*(math.sin((s + 1) * i) for i in range(n)))
              for s, name in enumerate("qkv")}
    g = (c.c_float * n)(*(math.cos(i) for i in range(n)))

    def loss():
        return sum(x * y for x, y in zip(attention("--attn cosformer", B, N, H, d, arrays, g)[0], g))

    by_hand = attention("--attn cosformer", B, N, H, d, arrays, g)[1]["v"][100]
    arrays["v"][100] += 0.5
    more = loss()
    arrays["v"][100] -= 1
    print(f"{by_hand:.5f} by hand, {more - loss():.5f} by differences")

    if len(sys.argv) > 1:
        model = check(lib.attnc_model_open(sys.argv[1].encode(), b"--threads 1"))
        ids = (c.c_int * 4)(1, 2, 3, 4)
        logits = (c.c_float * (4 * lib.attnc_model_number(model, b"outputs")))()
        check(lib.attnc_model_logits(model, Batch(1, 4, ids, None, None), logits) == 0)
        print(f"{len(logits)} logits, the first {logits[0]:.4f}")
        lib.attnc_model_free(model)


if __name__ == "__main__":
    main()
