"""LLVM IR that every kernel's code is linked with: the checks of weak accesses, and what creates and resumes threads.

A check of happens-before (FastTrack): an access is a word of thread, epoch and site; it came before the present one if
the thread knows of that epoch. A granule has its last writer and some readers; more readers that do not know of each
other get a table by thread, with open addressing (`@new_readers` makes room for one): the number of its words less
one, how many are used, the words. What is out of the ordinary is left to the scheduler (`@on_access`).
"""

from __future__ import annotations

from coconet_ir.emu.code.layout import (
    EPOCH_BITS,
    FLAGS,
    READERS,
    SITE_BITS,
    STATE,
    THREAD_SHIFT,
    WORDS,
    Op,
    State,
    place,
)


def _tries() -> str:
    """Take the place of a reader that came before, of all but the first."""
    lines: list[str] = []
    for n in range(1, READERS):
        after = f"try{n + 1}" if n + 1 < READERS else "grow"
        lines.append(f"""try{n}:
  %reader{n}.p = getelementptr i64, ptr %cell, i64 {n + 1}
  %reader{n} = load i64, ptr %reader{n}.p
  %free{n} = call i1 @ordered(i64 %reader{n}, i64 %self, ptr %row)
  br i1 %free{n}, label %take{n}, label %{after}
take{n}:
  store i64 %entry.new, ptr %reader{n}.p
  ret i1 true""")
    return "\n".join(lines)


def _all_readers() -> str:
    """`%known.all`: whether the writer (`%o0`) and all readers came before."""
    lines = ["  %known0 = and i1 %o0, true"]
    for n in range(1, READERS + 1):
        name = "%known.all" if n == READERS else f"%known{n}"
        lines.append(f"""  %reader{n}.p = getelementptr i64, ptr %cell, i64 {n}
  %reader{n} = load i64, ptr %reader{n}.p
  %o{n} = call i1 @ordered(i64 %reader{n}, i64 %self, ptr %row)
  {name} = and i1 %known{n - 1}, %o{n}""")
    return "\n".join(lines)


def _forget_readers() -> str:
    lines: list[str] = []
    for n in range(1, READERS + 1):
        lines.append(f"""  %old{n}.p = getelementptr i64, ptr %cell, i64 {n}
  store i64 0, ptr %old{n}.p""")
    return "\n".join(lines)


_CELL = f"""  %self = load i64, ptr %me
  %row.p = getelementptr i8, ptr %me, i64 {place("row")}
  %row = load ptr, ptr %row.p
  %shadow.p = getelementptr i8, ptr %me, i64 {place("shadow")}
  %shadow = load ptr, ptr %shadow.p
  %cell = getelementptr [{WORDS} x i64], ptr %shadow, i64 %granule
  %state.p = getelementptr i64, ptr %cell, i64 {STATE}
  %writer = load i64, ptr %cell
  %state = load i64, ptr %state.p
"""
"""What a check of a granule begins with: the thread, and the granule's shadow."""

_GRANULE = "ptr %me, i64 %address, i64 %offset, i64 %granule, i64 %bytes, i64 %site"
"""What checks of a granule take, and hand on."""

FEWEST_READERS = 32
"""Words of a table of readers, of which a half are used before there are more."""

WIDTHS = (1, 2, 4, 8, 16, 32)
"""Bytes of accesses that are checked at once."""

_COMMON = f"""
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare void @llvm.coro.end(ptr, i1, token)
declare ptr @llvm.coro.free(token, ptr)
declare void @llvm.coro.resume(ptr)
declare void @llvm.coro.destroy(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)

@on_access = global ptr null
@new_readers = global ptr null

define internal i1 @ordered(i64 %entry, i64 %self, ptr %row) alwaysinline {{
  %other = xor i64 %entry, %self
  %same = icmp ult i64 %other, {1 << THREAD_SHIFT}
  %thread = lshr i64 %entry, {THREAD_SHIFT}
  %place = getelementptr i32, ptr %row, i64 %thread
  %known = load i32, ptr %place
  %wide = zext i32 %known to i64
  %shifted = lshr i64 %entry, {SITE_BITS}
  %epoch = and i64 %shifted, {(1 << EPOCH_BITS) - 1}
  %before = icmp uge i64 %wide, %epoch
  %found = or i1 %same, %before
  ret i1 %found
}}

define internal i1 @ask(ptr %me, i64 %address, i64 %offset, i64 %bytes, i64 %site, i64 %store) noinline cold {{
  %place = getelementptr i8, ptr %me, i64 {place("address")}
  store i64 %address, ptr %place
  %function = load ptr, ptr @on_access
  %answer = call i64 %function(ptr %me, i64 %offset, i64 %bytes, i64 %site, i64 %store)
  %good = icmp eq i64 %answer, 0
  ret i1 %good
}}

define internal ptr @more_readers(i64 %granule, i64 %size, ptr %state.p) noinline cold {{
  %function = load ptr, ptr @new_readers
  %made = call i64 %function(i64 %granule, i64 %size)
  store i64 %made, ptr %state.p
  %table = inttoptr i64 %made to ptr
  ret ptr %table
}}

define internal void @put_reader(ptr %table, i64 %entry) {{
start:
  %mask = load i64, ptr %table
  %thread = lshr i64 %entry, {THREAD_SHIFT}
  br label %next
next:
  %i = phi i64 [ %thread, %start ], [ %i.next, %more ]
  %index = and i64 %i, %mask
  %behind = add i64 %index, 2
  %place = getelementptr i64, ptr %table, i64 %behind
  %there = load i64, ptr %place
  %none = icmp eq i64 %there, 0
  br i1 %none, label %new, label %look
look:
  %other = xor i64 %there, %entry
  %same = icmp ult i64 %other, {1 << THREAD_SHIFT}
  br i1 %same, label %put, label %more
more:
  %i.next = add i64 %i, 1
  br label %next
new:
  %count.p = getelementptr i64, ptr %table, i64 1
  %count = load i64, ptr %count.p
  %count.new = add i64 %count, 1
  store i64 %count.new, ptr %count.p
  br label %put
put:
  store i64 %entry, ptr %place
  ret void
}}

define internal i1 @slow_load({_GRANULE}) noinline {{
entry:
{_CELL}  %flags = and i64 %state, {FLAGS}
  %plain = icmp eq i64 %flags, 0
  %after = call i1 @ordered(i64 %writer, i64 %self, ptr %row)
  %good = and i1 %plain, %after
  br i1 %good, label %readers, label %bad
readers:
  %entry.new = or i64 %self, %site
  %has = icmp ne i64 %state, 0
  br i1 %has, label %many, label %try1
{_tries()}
grow:
  %first = call ptr @more_readers(i64 %granule, i64 {FEWEST_READERS}, ptr %state.p)
  br label %put
many:
  %table = inttoptr i64 %state to ptr
  %mask = load i64, ptr %table
  %count.p = getelementptr i64, ptr %table, i64 1
  %count = load i64, ptr %count.p
  %twice = shl i64 %count, 1
  %full = icmp ugt i64 %twice, %mask
  br i1 %full, label %widen, label %put
widen:
  %size = add i64 %mask, 1
  %more = shl i64 %size, 2
  %wider = call ptr @more_readers(i64 %granule, i64 %more, ptr %state.p)
  %failed = icmp eq ptr %wider, null
  br i1 %failed, label %no, label %next
next:
  %i = phi i64 [ 2, %widen ], [ %i.next, %next.end ]
  %old.p = getelementptr i64, ptr %table, i64 %i
  %old = load i64, ptr %old.p
  %none = icmp eq i64 %old, 0
  br i1 %none, label %next.end, label %move
move:
  call void @put_reader(ptr %wider, i64 %old)
  br label %next.end
next.end:
  %i.next = add i64 %i, 1
  %at.end = icmp ugt i64 %i, %size
  br i1 %at.end, label %put, label %next
put:
  %list = phi ptr [ %first, %grow ], [ %table, %many ], [ %wider, %next.end ]
  %nowhere = icmp eq ptr %list, null
  br i1 %nowhere, label %no, label %good.put
good.put:
  call void @put_reader(ptr %list, i64 %entry.new)
  ret i1 true
no:
  ret i1 false
bad:
  %answer = call i1 @ask(ptr %me, i64 %address, i64 %offset, i64 %bytes, i64 %site, i64 0)
  ret i1 %answer
}}

define internal i1 @slow_store({_GRANULE}) noinline {{
entry:
{_CELL}  %fresh = icmp eq i64 %state, {State.UNWRITTEN}
  br i1 %fresh, label %write, label %look
look:
  %flags = and i64 %state, {FLAGS}
  %plain = icmp eq i64 %flags, 0
  %o0 = call i1 @ordered(i64 %writer, i64 %self, ptr %row)
{_all_readers()}
  %good = and i1 %known.all, %plain
  br i1 %good, label %rows, label %bad
rows:
  %none = icmp eq i64 %state, 0
  br i1 %none, label %write, label %scan
scan:
  %list = inttoptr i64 %state to ptr
  %mask = load i64, ptr %list
  %count = add i64 %mask, 1
  %entries = getelementptr i64, ptr %list, i64 2
  br label %next
next:
  %i = phi i64 [ 0, %scan ], [ %i.next, %more ]
  %reader.p = getelementptr i64, ptr %entries, i64 %i
  %reader = load i64, ptr %reader.p
  %known = call i1 @ordered(i64 %reader, i64 %self, ptr %row)
  br i1 %known, label %more, label %bad
more:
  %i.next = add i64 %i, 1
  %end = icmp eq i64 %i.next, %count
  br i1 %end, label %write, label %next
write:
  store i64 0, ptr %state.p
{_forget_readers()}
  %entry.new = or i64 %self, %site
  store i64 %entry.new, ptr %cell
  ret i1 true
bad:
  %answer = call i1 @ask(ptr %me, i64 %address, i64 %offset, i64 %bytes, i64 %site, i64 1)
  ret i1 %answer
}}

define void @resume(ptr %handles, ptr %records, i64 %stride, ptr %slots, i64 %count) {{
entry:
  %any = icmp ne i64 %count, 0
  br i1 %any, label %next, label %end
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %more ]
  %slot.p = getelementptr i64, ptr %slots, i64 %i
  %slot = load i64, ptr %slot.p
  %handle.p = getelementptr ptr, ptr %handles, i64 %slot
  %handle = load ptr, ptr %handle.p
  call void @llvm.coro.resume(ptr %handle)
  %where = mul i64 %slot, %stride
  %record = getelementptr i8, ptr %records, i64 %where
  %op.p = getelementptr i8, ptr %record, i64 {place("op")}
  %op = load i32, ptr %op.p
  %fault = icmp eq i32 %op, {Op.FAULT}
  br i1 %fault, label %end, label %more
more:
  %i.next = add i64 %i, 1
  %done = icmp eq i64 %i.next, %count
  br i1 %done, label %end, label %next
end:
  ret void
}}

define void @create(ptr %kernel, ptr %handles, ptr %records, i64 %stride, i64 %first, i64 %count) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %slot = add i64 %first, %i
  %where = mul i64 %slot, %stride
  %record = getelementptr i8, ptr %records, i64 %where
  %handle = call ptr %kernel(ptr %record)
  %handle.p = getelementptr ptr, ptr %handles, i64 %slot
  store ptr %handle, ptr %handle.p
  %i.next = add i64 %i, 1
  %done = icmp eq i64 %i.next, %count
  br i1 %done, label %end, label %next
end:
  ret void
}}

define void @destroy(ptr %handles, i64 %first, i64 %count) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %skip ]
  %slot = add i64 %first, %i
  %handle.p = getelementptr ptr, ptr %handles, i64 %slot
  %handle = load ptr, ptr %handle.p
  %none = icmp eq ptr %handle, null
  br i1 %none, label %skip, label %end.one
end.one:
  call void @llvm.coro.destroy(ptr %handle)
  store ptr null, ptr %handle.p
  br label %skip
skip:
  %i.next = add i64 %i, 1
  %done = icmp eq i64 %i.next, %count
  br i1 %done, label %end, label %next
end:
  ret void
}}
"""


def native_text(granule: int) -> str:
    """All of it, for granules of 1, 2 or 4 bytes."""
    parts = [_COMMON, _granule_checks()]
    for bytes in WIDTHS:
        parts += (_check(kind, bytes, granule) for kind in ("load", "store", "constant"))
    parts += (_range("load", granule), _range("store", granule))
    return "\n".join(parts)


def _granule_checks() -> str:
    """A load's and a store's check of one granule, the ordinary case inline."""
    return f"""
define internal i1 @granule_load({_GRANULE}) alwaysinline {{
{_CELL}  %plain = icmp eq i64 %state, 0
  %o0 = call i1 @ordered(i64 %writer, i64 %self, ptr %row)
  %first.p = getelementptr i64, ptr %cell, i64 1
  %first = load i64, ptr %first.p
  %o1 = call i1 @ordered(i64 %first, i64 %self, ptr %row)
  %both = and i1 %o0, %o1
  %good = and i1 %both, %plain
  br i1 %good, label %fast, label %slow
fast:
  %new = or i64 %self, %site
  store i64 %new, ptr %first.p
  ret i1 true
slow:
  %answer = call i1 @slow_load({_GRANULE})
  ret i1 %answer
}}

define internal i1 @granule_constant({_GRANULE}) alwaysinline {{
{_CELL}  %strong = and i64 %state, {State.STRONG}
  %weak = icmp eq i64 %strong, 0
  %start.p = getelementptr i8, ptr %me, i64 {place("start")}
  %start = load ptr, ptr %start.p
  %before = call i1 @ordered(i64 %writer, i64 -1, ptr %start)
  %sound = and i1 %weak, %before
  br i1 %sound, label %good, label %bad
good:
  %found = call i1 @granule_load({_GRANULE})
  ret i1 %found
bad:
  %answer = call i1 @ask(ptr %me, i64 %address, i64 %offset, i64 %bytes, i64 %site, i64 2)
  ret i1 %answer
}}

define internal i1 @granule_store({_GRANULE}) alwaysinline {{
{_CELL}  %plain = icmp eq i64 %state, 0
  %o0 = call i1 @ordered(i64 %writer, i64 %self, ptr %row)
{_all_readers()}
  %good = and i1 %known.all, %plain
  br i1 %good, label %fast, label %slow
fast:
  %new = or i64 %self, %site
  store i64 %new, ptr %cell
  ret i1 true
slow:
  %answer = call i1 @slow_store({_GRANULE})
  ret i1 %answer
}}
"""


def _check(kind: str, bytes: int, granule: int) -> str:
    """`@check_load_8` and so on: whether a thread may access so many bytes at an offset."""
    shift = granule.bit_length() - 1
    store = ("load", "store", "constant").index(kind)
    lines = [
        f"""
define internal i1 @check_{kind}_{bytes}(ptr %me, i64 %address, i64 %offset, i64 %site) {{
entry:
  %limit.p = getelementptr i8, ptr %me, i64 {place("limit")}
  %limit = load i64, ptr %limit.p
  %inside = icmp ult i64 %offset, %limit
  %low = and i64 %address, {bytes - 1}
  %aligned = icmp eq i64 %low, 0
  %sound = and i1 %inside, %aligned
  br i1 %sound, label %g0, label %bad
bad:
  %answer = call i1 @ask(ptr %me, i64 %address, i64 %offset, i64 {bytes}, i64 %site, i64 {store})
  ret i1 %answer"""
    ]
    count = max(1, bytes // granule)
    for i in range(count):
        lines.append(f"""g{i}:
  %at{i} = add i64 %offset, {i * granule}
  %n{i} = lshr i64 %at{i}, {shift}
  %ok{i} = call i1 @granule_{kind}(ptr %me, i64 %address, i64 %at{i}, i64 %n{i}, i64 {bytes}, i64 %site)
  br i1 %ok{i}, label %{f"g{i + 1}" if i + 1 < count else "good"}, label %no""")
    lines.append("good:\n  ret i1 true\nno:\n  ret i1 false\n}")
    return "\n".join(lines)


def _range(kind: str, granule: int) -> str:
    """`@range_load` and `@range_store`: the host's access to bytes from `offset` to `end`."""
    shift = granule.bit_length() - 1
    return f"""
define i1 @range_{kind}(ptr %me, i64 %offset, i64 %end, i64 %site) {{
entry:
  %any = icmp ult i64 %offset, %end
  br i1 %any, label %next, label %good
next:
  %at = phi i64 [ %offset, %entry ], [ %at.next, %more ]
  %n = lshr i64 %at, {shift}
  %ok = call i1 @granule_{kind}(ptr %me, i64 %at, i64 %at, i64 %n, i64 {granule}, i64 %site)
  br i1 %ok, label %more, label %no
more:
  %at.next = add i64 %at, {granule}
  %again = icmp ult i64 %at.next, %end
  br i1 %again, label %next, label %good
good:
  ret i1 true
no:
  ret i1 false
}}"""
