"""Kernels that Triton compiles."""

# Triton is no dependency: only `make.py` reads this file.
# pyright: basic, reportMissingImports=false

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """A program a row."""
    at = tl.arange(0, BLOCK)
    inside = at < columns
    start = tl.program_id(0).to(tl.int64) * columns
    row = tl.load(x + start + at, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, 0))
    tl.store(out + start + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm(x, weight, bias, out, means, scales, columns, eps, BLOCK: tl.constexpr):
    """A program a row, in parts of BLOCK."""
    row = tl.program_id(0)
    x += row.to(tl.int64) * columns
    out += row.to(tl.int64) * columns
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
        away = tl.where(at < columns, value - mean, 0.0)
        squares += away * away
    scale = tl.rsqrt(tl.sum(squares, 0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        w, b = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
        tl.store(out + at, ((value - mean) * scale * w + b).to(tl.float16), mask=inside)


@triton.jit
def total(x, out, most, n, BLOCK: tl.constexpr):
    """The sum, and the largest, of all, by atomic operations."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(out, tl.sum(value.to(tl.int64), 0))
    tl.atomic_max(most, tl.max(tl.where(at < n, value, -2147483648), 0))


@triton.jit
def _join(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def scans(x, decay, sums, states, columns, BLOCK: tl.constexpr):
    """A program a row: running sums of integers, and the states s = decay s + x."""
    at = tl.arange(0, BLOCK)
    inside = at < columns
    start = tl.program_id(0) * columns
    value = tl.load(x + start + at, mask=inside, other=0)
    tl.store(sums + start + at, tl.cumsum(value, 0), mask=inside)
    by = tl.load(decay + start + at, mask=inside, other=1.0)
    _, state = tl.associative_scan((by, value.to(tl.float32)), 0, _join)
    tl.store(states + start + at, state, mask=inside)


@triton.jit
def dropout(x, out, words, n, p, seed, BLOCK: tl.constexpr):
    """Keeps where Philox's number is above p; also its words."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, value / (1 - p), 0.0), mask=inside)
    tl.store(words + at, tl.randint(seed, at), mask=inside)


@triton.jit
def casts(x, bf16, f16, e4m3, e5m2, back, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    tl.store(bf16 + at, value.to(tl.bfloat16), mask=inside)
    tl.store(f16 + at, value.to(tl.float16), mask=inside)
    narrow = value.to(tl.float8e4nv)
    tl.store(e4m3 + at, narrow, mask=inside)
    tl.store(e5m2 + at, value.to(tl.float8e5), mask=inside)
    tl.store(back + at, narrow.to(tl.float32), mask=inside)


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """Adds to the counts of numbers below BINS."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(counts + tl.arange(0, BINS), found)


@triton.jit
def activations(x, y, out, n, BLOCK: tl.constexpr):
    """tanh(x) + erf(y) x, in bf16."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside).to(tl.float32)
    b = tl.load(y + at, mask=inside).to(tl.float32)
    tl.store(out + at, (libdevice.tanh(a) + tl.erf(b) * a).to(tl.bfloat16), mask=inside)


@triton.jit
def ordered(x, out, places, columns, BLOCK: tl.constexpr):
    """A program a row: its elements in order, and where the largest was."""
    at = tl.arange(0, BLOCK)
    inside = at < columns
    start = tl.program_id(0) * columns
    row = tl.load(x + start + at, mask=inside, other=2147483647)
    tl.store(out + start + at, tl.sort(row), mask=inside)
    tl.store(places + tl.program_id(0), tl.argmax(tl.where(inside, row, -2147483648), 0))


@triton.jit
def product(a, x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """A matrix times a vector, in f32, by tiles of M x N."""
    row = tl.program_id(0) * M + tl.arange(0, M)
    total = tl.zeros([M], tl.float32)
    for start in range(0, columns, N):
        column = start + tl.arange(0, N)
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        tile = tl.load(a + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
        total += tl.sum(tile * tl.load(x + column, mask=column < columns, other=0.0)[None, :], 1)
    tl.store(out + row, total, mask=row < rows)


@triton.jit
def transpose(a, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """Tiles of M x N, by way of shared memory."""
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    column = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    tile = tl.load(a + row * columns + column, mask=(row < rows) & (column < columns))
    row, column = tl.trans(row), tl.trans(column)
    inside = (row < rows) & (column < columns)
    tl.store(out + column * rows + row, tl.trans(tile), mask=inside)


@triton.jit
def _raise(flag, epoch):
    tl.inline_asm_elementwise(
        "st.release.sys.global.u32 [$1], $2; mov.u32 $0, 0;",
        "=r,l,r",
        [flag, epoch],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def _seen(flag):
    return tl.inline_asm_elementwise(
        "ld.acquire.sys.global.u32 $0, [$1];",
        "=r,l",
        [flag],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def _meet(flags, rank, epoch, RANKS: tl.constexpr):
    """All ranks' programs of this number wait for each other."""
    tl.debug_barrier()
    at = tl.program_id(0) * RANKS
    for peer in tl.static_range(RANKS):
        _raise(tl.load(flags + peer).to(tl.pointer_type(tl.int32)) + at + rank, epoch)
    mine = tl.load(flags + rank).to(tl.pointer_type(tl.int32)) + at
    for peer in tl.static_range(RANKS):
        while _seen(mine + peer) - epoch < 0:
            pass
    tl.debug_barrier()


@triton.jit
def one_shot(inputs, flags, out, epochs, rank, n, RANKS: tl.constexpr, BLOCK: tl.constexpr):
    """The sum over ranks, in their order. `inputs` and `flags` are tables of addresses by rank."""
    epoch = tl.load(epochs + tl.program_id(0))
    _meet(flags, rank, epoch + 1, RANKS)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for peer in tl.static_range(RANKS):
        theirs = tl.load(inputs + peer).to(tl.pointer_type(tl.float32))
        total += tl.load(theirs + at, mask=at < n, other=0.0)
    tl.store(out + at, total, mask=at < n)
    _meet(flags, rank, epoch + 2, RANKS)
    tl.store(epochs + tl.program_id(0), epoch + 2)


I32, I64, F32, F16, BF16 = "*i32", "*i64", "*fp32", "*fp16", "*bf16"
KERNELS = {
    "add": (add, (F32, F32, F32, "i32"), {"BLOCK": 1024}, 2),
    "softmax": (softmax, (BF16, BF16, "i32"), {"BLOCK": 512}, 2),
    "layer_norm": (
        *(layer_norm, (F16, F32, F32, F16, F32, F32, "i32", "fp32")),
        *({"BLOCK": 256}, 2),
    ),
    "total": (total, (I32, I64, I32, "i32"), {"BLOCK": 512}, 2),
    "scans": (scans, (I32, F32, I32, F32, "i32"), {"BLOCK": 512}, 2),
    "dropout": (dropout, (F32, F32, I32, "i32", "fp32", "i32"), {"BLOCK": 512}, 2),
    "casts": (casts, (F32, BF16, F16, "*fp8e4nv", "*fp8e5", F32, "i32"), {"BLOCK": 512}, 2),
    "histogram": (histogram, (I32, I32, "i32"), {"BLOCK": 512, "BINS": 64}, 2),
    "activations": (activations, (BF16, BF16, BF16, "i32"), {"BLOCK": 512}, 2),
    "ordered": (ordered, (I32, I32, I32, "i32"), {"BLOCK": 128}, 2),
    "product": (product, (F32, F32, F32, "i32", "i32"), {"M": 16, "N": 32}, 2),
    "transpose": (transpose, (F32, F32, "i32", "i32"), {"M": 32, "N": 16}, 2),
    "one_shot": (one_shot, (I64, I64, F32, I32, "i32", "i32"), {"RANKS": 3, "BLOCK": 64}, 1),
}
"""What is compiled: the kernel, the types of its arguments, its constants, and how many warps a program has."""
