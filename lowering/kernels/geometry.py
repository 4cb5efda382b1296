"""The launch table: how many threads a block has and how much each does, family by family. Measured, on one H200.

`benchmarks/kernels.py --only sweep` measures others, in place of those that are read as `geometry.NAME`.
"""

from __future__ import annotations

ACCESS = 16
"""Bytes of the widest access to memory."""

POINTWISE_THREADS, POINTWISE_VECTORS = 128, 2
"""A block of elementwise work, and vectors a thread, on a full grid."""

POINTWISE_LOADED = 56
"""Bytes that suffice: a thread that loads so many for one vector has one. Adam in f32, which loads 64, reaches 0.996 of
copy bandwidth so, with two vectors 0.994; dropout in bf16, which loads 48, 0.96, and with two 1.04."""

BUCKET, BUCKET_THREADS = 1024, 128
"""Elements of a full reduction, or of a segment's, that are added first, and threads that do it. Part of what bits
depend on."""

PARTIALS = 1 << 15
"""The most numbers that the buckets of a full reduction leave to be added by one block. Part of what bits depend on."""

FINISH_THREADS = 1024
"""Threads that add the buckets of a full reduction. Part of what bits depend on."""

FINISH_UNROLLED = 8
"""Values that such a thread loads at once."""

SEGMENT_THREADS = 256
"""Threads that add the buckets of one segment. Part of what bits depend on."""

ROW_THREADS, ROW_FEW = 256, 256
"""A block of row-wise work, and up to how many rows, however short, take a block each. The threads, not the rows, are
part of what bits depend on."""

ROW_KEPT = 32
"""Elements of a row that a thread holds in registers, so that memory is read once: rows of up to 8,192 elements. Says
how many lanes a row has, and so is part of what bits depend on."""

COLUMN_WIDTH, COLUMN_PARTS, COLUMN_LONG = 32, 16, 128
"""A block of column-wise work: columns, and parts in which a column of at least `COLUMN_LONG` elements is added, a
shorter one being one part. Part of what bits depend on."""

TILE, TILE_ROWS = 32, 8
"""A tile of a transposition, and its rows that are moved at once."""

WARP = 32
"""Threads that exchange values without memory."""
