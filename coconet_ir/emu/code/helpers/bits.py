"""Functions of bits that are loops in PTX's own description."""

from __future__ import annotations

from collections.abc import Mapping

HELPERS: Mapping[str, str] = {
    # PTX ISA 9.7.1.17: the bit that is `offset` set bits from `base`, upwards or downwards.
    "fns.b32": """define internal i32 @fns.b32(i32 %mask, i32 %base, i32 %offset) {
entry:
%up = icmp sge i32 %offset, 0
%step = select i1 %up, i32 1, i32 -1
%distance = call i32 @llvm.abs.i32(i32 %offset, i1 false)
%here = icmp eq i32 %offset, 0
%wanted = select i1 %here, i32 1, i32 %distance
br label %look
look:
%place = phi i32 [ %base, %entry ], [ %next, %on ]
%left = phi i32 [ %wanted, %entry ], [ %left.now, %on ]
%inside = icmp ult i32 %place, 32
br i1 %inside, label %count, label %none
count:
%low = lshr i32 %mask, %place
%bit = and i32 %low, 1
%left.now = sub i32 %left, %bit
%found = icmp eq i32 %left.now, 0
br i1 %found, label %done, label %on
on:
%next = add i32 %place, %step
br i1 %here, label %none, label %look
done:
ret i32 %place
none:
ret i32 -1
}""",
}
