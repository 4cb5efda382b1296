"""The forms of instructions that the emulator runs, as templates.

A line is `kinds of inputs -> kinds of outputs: instructions`; `<x|y>` stands for each of its parts, $ and # for each of
global, shared and, only $, local, the same one in all of the line. Inputs are the registers a, b, c, f, outputs are d,
e, m, o; t (32 bits), u (64 bits), v (128 bits) and q (a predicate) are free. The addresses %global, %shared and %local
are of 16 bytes that each thread has, %const of `CONSTANTS`.

Kinds: h, w, l are 16, 32, 64 bits; n is a count of 32 bits, mostly small; x is two of 16; p is a predicate. Floats are
e (f16), g (bf16), s (f32), d (f64), E (f16x2), G (bf16x2), k (e4m3x2), K (e5m2x2) and S (f32x2). An output D is an f64
whose NaN may be any, and ~ is an approximation of the type of the instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BITS = {
    **dict.fromkeys("hegkK", 16),
    **dict.fromkeys("wnxsEG", 32),
    **dict.fromkeys("ldDS", 64),
    "p": 1,
}


SPACES = {"$": ("global", "shared", "local"), "#": ("global", "shared")}


@dataclass(frozen=True)
class Form:
    """Instructions on registers, and the kinds of the registers."""

    text: str
    inputs: str
    outputs: str
    approximate: bool
    """Whether it is to be as near as `APPROXIMATIONS` says, not equal."""

    @property
    def opcodes(self) -> set[str]:
        """What it tests."""
        return {part.split()[0].partition(".")[0] for part in self.text.split(";") if part.strip()}


def _expanded(template: str) -> Iterator[str]:
    """A template with each choice of its alternatives."""
    for sign, spaces in SPACES.items():
        if sign in template:
            for space in spaces:
                yield from _expanded(template.replace(sign, space))
            return
    choice = re.search(r"<([^<>]*)>", template)
    if choice is None:
        yield template
        return
    for part in choice[1].split("|"):
        yield from _expanded(template[: choice.start()] + part + template[choice.end() :])


def _saturates(text: str) -> bool:
    """Whether `.sat` of a conversion between integers can matter: ptxas refuses it elsewhere."""
    types = re.match(r"cvt\.sat\.([su])(\d+)\.([su])(\d+) ", text)
    if types is None:
        return True
    target, n, source, k = types[1], int(types[2]), types[3], int(types[4])
    return n < k if target == source else n <= k or target == "u"


def expand(table: str) -> list[Form]:
    """The forms of a table."""
    forms: list[Form] = []
    for line in table.strip().splitlines():
        kinds, _, template = line.partition(":")
        inputs, _, outputs = (part.replace(" ", "") for part in kinds.partition("->"))
        for text in filter(_saturates, _expanded(template.strip())):
            approximate = outputs == "~"
            kind = outputs
            if approximate:
                kind = {
                    "f64": "d",
                    "f32": "s",
                    "f16": "e",
                    "bf16": "g",
                    "f16x2": "E",
                    "bf16x2": "G",
                }[text.split()[0].rpartition(".")[2]]
            forms.append(Form(text + ";", inputs, kind, approximate))
    return forms


_RND = "<rn|rz|rm|rp>"
_OPT = "<|.rn|.rz|.rm|.rp>"
_TABLES = "<0|1|0x80|0x96|0xE8|0xCA|0x6A|0x17|0x3C|0xF0|0xCC|0xAA|0x1E|0x7F|0xFE|0xFF>"

INTEGERS = """
h h -> h: <add|sub|mul.lo|mul.hi|div|rem|min|max>.<s16|u16> d, a, b
w w -> w: <add|sub|mul.lo|mul.hi|div|rem|min|max|mul24.lo|mul24.hi>.<s32|u32> d, a, b
w w -> w: <add.sat|sub.sat|min.relu|max.relu>.s32 d, a, b
l l -> l: <add|sub|mul.lo|mul.hi|div|rem|min|max>.<s64|u64> d, a, b
h h -> w: mul.wide.<s16|u16> d, a, b
w w -> l: mul.wide.<s32|u32> d, a, b
h h h -> h: <mad.lo|mad.hi|sad>.<s16|u16> d, a, b, c
w w w -> w: <mad.lo|mad.hi|sad|mad24.lo|mad24.hi>.<s32|u32> d, a, b, c
w w w -> w: <mad.hi|mad24.hi>.sat.s32 d, a, b, c
w w w -> w: <dp4a|dp2a.lo|dp2a.hi>.<s32|u32>.<s32|u32> d, a, b, c
l l l -> l: <mad.lo|mad.hi|sad>.<s64|u64> d, a, b, c
h h w -> w: mad.wide.<s16|u16> d, a, b, c
w w l -> l: mad.wide.<s32|u32> d, a, b, c
h -> h: <abs|neg>.s16 d, a
w -> w: <abs|neg>.s32 d, a
l -> l: <abs|neg>.s64 d, a
x x -> x: <add|min|max>.<s16x2|u16x2> d, a, b
x x -> x: <min|max>.relu.s16x2 d, a, b
w w w -> w w: <add|sub>.cc.u32 d, a, b; <add|sub>c.<u32|s32> e, c, 0
w w w -> w w: <add|sub>.cc.<u32|s32> t, a, b; <add|sub>c.cc.<u32|s32> d, c, b; <add|sub>c.u32 e, a, c
l l l -> l l: <add|sub>.cc.<u64|s64> u, a, b; <add|sub>c.cc.<u64|s64> d, c, b; <add|sub>c.u64 e, a, c
w w w -> w w: mad.<lo|hi>.cc.<u32|s32> d, a, b, c; madc.<lo|hi>.<u32|s32> e, b, c, a
w w w -> w w: mad.lo.cc.u32 t, a, b, c; madc.<lo|hi>.cc.<u32|s32> d, a, c, b; addc.u32 e, 0, 0
l l l -> l l: mad.<lo|hi>.cc.<u64|s64> d, a, b, c; madc.<lo|hi>.<u64|s64> e, b, c, a
w -> w: <add.s32|sub.u32|mul.lo.s32|mul.hi.u32|div.s32> d, a, <-5|7|0x7FFFFFFF|0xFFFFFFFF|0x80000000>
w -> w: <rem.u32|max.s32|and.b32|xor.b32> d, a, <-5|7|0x7FFFFFFF|0xFFFFFFFF|0x80000000>
l -> l: <add.s64|mul.lo.s64|div.s64|rem.u64|min.s64|or.b64> d, a, <-5|10|0x7FFFFFFFFFFFFFFF>
"""

LOGIC = f"""
h h -> h: <and|or|xor>.b16 d, a, b
w w -> w: <and|or|xor>.b32 d, a, b
l l -> l: <and|or|xor>.b64 d, a, b
p p -> p: <and|or|xor>.pred d, a, b
h -> h: <not|cnot|mov>.b16 d, a
w -> w: <not|cnot|mov>.b32 d, a
l -> l: <not|cnot|mov>.b64 d, a
p -> p: <not|mov>.pred d, a
w w w -> w: lop3.b32 d, a, b, c, {_TABLES}
w w w p -> w p: lop3.<or|and>.b32 d|e, a, b, c, <0|0x80|0xCA>, f
h n -> h: <shl.b|shr.b|shr.u|shr.s>16 d, a, b
w n -> w: <shl.b|shr.b|shr.u|shr.s>32 d, a, b
l n -> l: <shl.b|shr.b|shr.u|shr.s>64 d, a, b
w w n -> w: shf.<l|r>.<clamp|wrap>.b32 d, a, b, c
w -> w: <popc|clz|brev>.b32 d, a
l -> w: <popc|clz>.b64 d, a
l -> l: brev.b64 d, a
w -> w: bfind<|.shiftamt>.<u32|s32> d, a
l -> w: bfind<|.shiftamt>.<u64|s64> d, a
w n n -> w: and.b32 t, b, 31; fns.b32 d, a, t, c
w n n -> w: bfe.<u32|s32> d, a, b, c
l n n -> l: bfe.<u64|s64> d, a, b, c
w w n n -> w: bfi.b32 d, a, b, c, f
l l n n -> l: bfi.b64 d, a, b, c, f
w n -> w: szext.<clamp|wrap>.<u32|s32> d, a, b
n n -> w: bmsk.<clamp|wrap>.b32 d, a, b
w w w -> w: prmt<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16>.b32 d, a, b, c
w w n -> w: prmt<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16>.b32 d, a, b, c
w w -> w: prmt.b32 d, a, b, <0x3210|0x7654|0xFEDC|0x8888|0x0123>
h h -> w: mov.b32 d, {{a, b}}
w w -> l: mov.b64 d, {{a, b}}
h h h h -> l: mov.b64 d, {{a, b, c, f}}
w -> h h: mov.b32 {{d, e}}, a
w -> h: mov.b32 <{{d, _}}|{{_, d}}>, a
l -> w w: mov.b64 {{d, e}}, a
l -> h h h h: mov.b64 {{d, e, m, o}}, a
l l -> l l: mov.b128 v, {{a, b}}; mov.b128 {{e, d}}, v
s -> w: mov.<f32|u32|s32> d, a
d -> l: mov.<f64|u64|s64> d, a
"""

_ORDER = "<eq|ne|lt|le|gt|ge>"
_FLOAT_ORDER = "<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>"

COMPARISONS = f"""
h h -> p p: setp.<eq|ne>.b16 d|e, a, b
w w -> p p: setp.<eq|ne>.b32 d|e, a, b
l l -> p p: setp.<eq|ne>.b64 d|e, a, b
h h -> p p: setp.{_ORDER}.<s16|u16> d|e, a, b
w w -> p p: setp.{_ORDER}.<s32|u32> d|e, a, b
l l -> p p: setp.{_ORDER}.<s64|u64> d|e, a, b
h h -> p: setp.<lo|ls|hi|hs>.u16 d, a, b
w w -> p: setp.<lo|ls|hi|hs>.u32 d, a, b
l l -> p: setp.<lo|ls|hi|hs>.u64 d, a, b
s s -> p p: setp.{_FLOAT_ORDER}<|.ftz>.f32 d|e, a, b
d d -> p p: setp.{_FLOAT_ORDER}.f64 d|e, a, b
e e -> p: setp.{_FLOAT_ORDER}<|.ftz>.f16 d, a, b
g g -> p: setp.{_FLOAT_ORDER}.bf16 d, a, b
E E -> p p: setp.{_FLOAT_ORDER}<|.ftz>.f16x2 d|e, a, b
G G -> p p: setp.{_FLOAT_ORDER}.bf16x2 d|e, a, b
w w p -> p p: setp.<lt|ne>.<and|or|xor>.<s32|u32> d|e, a, b, <|!>c
s s p -> p p: setp.<lt|neu>.<and|or|xor>.f32 d|e, a, b, <|!>c
d d p -> p p: setp.ge.<and|or|xor>.f64 d|e, a, b, c
E E p -> p p: setp.lt.<and|or|xor>.f16x2 d|e, a, b, c
h h p -> h: selp.<b16|s16|u16> d, a, b, c
w w p -> w: selp.<b32|s32|u32|f32> d, a, b, c
l l p -> l: selp.<b64|s64|u64|f64> d, a, b, c
w w w -> w: slct.<b32|u32|s32|f32>.s32 d, a, b, c
w w s -> w: slct<|.ftz>.<b32|u32|s32|f32>.f32 d, a, b, c
h h w -> h: slct.<b16|u16|s16>.s32 d, a, b, c
l l s -> l: slct<|.ftz>.<b64|u64|s64|f64>.f32 d, a, b, c
w w -> w: set.{_ORDER}.<u32|s32|f32>.<s32|u32> d, a, b
w w -> w: set.<eq|ne>.<u32|s32|f32>.b32 d, a, b
w w -> w: set.<lo|ls|hi|hs>.<u32|f32>.u32 d, a, b
h h -> w: set.<lt|eq|ge>.<u32|s32|f32>.<s16|u16> d, a, b
l l -> w: set.<lt|eq|ge>.<u32|s32|f32>.<s64|u64> d, a, b
s s -> w: set.{_FLOAT_ORDER}<|.ftz>.<u32|f32>.f32 d, a, b
d d -> w: set.{_FLOAT_ORDER}.<s32|f32>.f64 d, a, b
s s p -> w: set.<gt|ltu>.<and|or|xor>.<u32|f32>.f32 d, a, b, <|!>c
w w -> h: set.<lt|ge>.<f16|bf16>.<s32|u32> d, a, b
s s -> h: set.<lt|neu>.<f16|bf16>.f32 d, a, b
e e -> h: set.{_FLOAT_ORDER}<|.ftz>.<f16|u16|s16>.f16 d, a, b
g g -> h: set.{_FLOAT_ORDER}.<bf16|u16|s16>.bf16 d, a, b
e e -> w: set.<lt|neu>.<u32|s32>.f16 d, a, b
E E -> w: set.{_FLOAT_ORDER}<|.ftz>.<f16x2|u32|s32>.f16x2 d, a, b
G G -> w: set.{_FLOAT_ORDER}.<bf16x2|u32|s32>.bf16x2 d, a, b
s -> p: testp.<finite|infinite|number|notanumber|normal|subnormal>.f32 d, a
d -> p: testp.<finite|infinite|number|notanumber|normal|subnormal>.f64 d, a
"""

FLOATS = f"""
s s -> s: <add|sub|mul>{_OPT}<|.ftz><|.sat>.f32 d, a, b
d d -> D: <add|sub|mul>{_OPT}.f64 d, a, b
s s s -> s: <fma|mad>.{_RND}<|.ftz><|.sat>.f32 d, a, b, c
d d d -> D: <fma|mad>.{_RND}.f64 d, a, b, c
s s -> s: div.{_RND}<|.ftz>.f32 d, a, b
d d -> D: div.{_RND}.f64 d, a, b
s -> s: <rcp|sqrt>.{_RND}<|.ftz>.f32 d, a
d -> D: <rcp|sqrt>.{_RND}.f64 d, a
s -> s: <neg|abs><|.ftz>.f32 d, a
d -> D: <neg|abs>.f64 d, a
s s -> s: copysign.f32 d, a, b
d d -> d: copysign.f64 d, a, b
s s -> s: <min|max><|.ftz><|.NaN><|.xorsign.abs>.f32 d, a, b
d d -> D: <min|max>.f64 d, a, b
s -> s: <add.f32|sub.f32|mul.f32|min.f32> d, a, <0f00000001|0f3F800001|0fBF000000|0f7F800000|0f80000000>
s -> s: fma.rn.f32 d, a, <0f3F800000|0fC0000000|0f00000000>, <0f00000000|0f80000000|0f34000000>
d -> D: <add.f64|mul.f64> d, a, <0d3FF0000000000001|0d8000000000000000|1.5>
"""

HALVES = """
e e -> e: <add|sub|mul><|.rn><|.ftz><|.sat>.f16 d, a, b
E E -> E: <add|sub|mul><|.rn><|.ftz><|.sat>.f16x2 d, a, b
g g -> g: <add|sub|mul><|.rn>.bf16 d, a, b
G G -> G: <add|sub|mul><|.rn>.bf16x2 d, a, b
e e e -> e: fma.rn<|.ftz><|.sat|.relu>.f16 d, a, b, c
E E E -> E: fma.rn<|.ftz><|.sat|.relu>.f16x2 d, a, b, c
g g g -> g: fma.rn<|.relu>.bf16 d, a, b, c
G G G -> G: fma.rn<|.relu>.bf16x2 d, a, b, c
e -> e: <neg|abs><|.ftz>.f16 d, a
E -> E: <neg|abs><|.ftz>.f16x2 d, a
g -> g: <neg|abs>.bf16 d, a
G -> G: <neg|abs>.bf16x2 d, a
e e -> e: <min|max><|.ftz><|.NaN><|.xorsign.abs>.f16 d, a, b
E E -> E: <min|max><|.ftz><|.NaN><|.xorsign.abs>.f16x2 d, a, b
g g -> g: <min|max><|.NaN><|.xorsign.abs>.bf16 d, a, b
G G -> G: <min|max><|.NaN><|.xorsign.abs>.bf16x2 d, a, b
"""

CONVERSIONS = f"""
w -> w: cvt<|.sat>.<s8|u8|s32|u32>.<s8|u8|s32|u32> d, a
w -> h: cvt<|.sat>.<s8|u8|s16|u16>.<s8|u8|s32|u32> d, a
w -> l: cvt<|.sat>.<s8|u8|s32|u32|s64|u64>.<s8|u8|s32|u32> d, a
h -> h: cvt<|.sat>.<s8|u8|s16|u16>.<s8|u8|s16|u16> d, a
h -> w: cvt<|.sat>.<s8|u8|s16|u16|s32|u32>.<s8|u8|s16|u16> d, a
h -> l: cvt<|.sat>.<s16|u16|s64|u64>.<s8|u8|s16|u16> d, a
l -> h: cvt<|.sat>.<s8|u8|s16|u16>.<s8|s32|u32|s64|u64> d, a
l -> w: cvt<|.sat>.<s8|u8|s16|u16|s32|u32>.<s8|u8|s16|s64|u64> d, a
l -> l: cvt<|.sat>.<s8|u8|s16|s32|u32|s64|u64>.<s8|u16|s32|u32|s64|u64> d, a
s -> w: cvt.<rni|rzi|rmi|rpi><|.ftz><|.sat>.<s8|u8|s32|u32>.f32 d, a
s -> h: cvt.<rni|rzi|rmi|rpi><|.ftz>.<s8|u8|s16|u16>.f32 d, a
s -> l: cvt.<rni|rzi|rmi|rpi><|.ftz>.<s64|u64>.f32 d, a
d -> w: cvt.<rni|rzi|rmi|rpi><|.sat>.<s8|u8|s32|u32>.f64 d, a
d -> h: cvt.<rni|rzi|rmi|rpi>.<s8|u8|s16|u16>.f64 d, a
d -> l: cvt.<rni|rzi|rmi|rpi>.<s64|u64>.f64 d, a
e -> w: cvt.<rni|rzi|rmi|rpi>.<s8|u8|s32|u32>.f16 d, a
e -> h: cvt.<rni|rzi|rmi|rpi>.<s8|u8|s16|u16>.f16 d, a
e -> l: cvt.<rni|rzi|rmi|rpi>.<s64|u64>.f16 d, a
g -> w: cvt.<rni|rzi|rmi|rpi>.<s32|u32>.bf16 d, a
g -> h: cvt.<rni|rzi|rmi|rpi>.<s16|u16>.bf16 d, a
g -> l: cvt.<rni|rzi|rmi|rpi>.<s64|u64>.bf16 d, a
w -> s: cvt.{_RND}<|.sat>.f32.<s8|u8|s32|u32> d, a
h -> s: cvt.{_RND}.f32.<s16|u16> d, a
l -> s: cvt.{_RND}.f32.<s64|u64> d, a
w -> d: cvt.{_RND}<|.sat>.f64.<s8|u8|s32|u32> d, a
h -> d: cvt.{_RND}.f64.<s16|u16> d, a
l -> d: cvt.{_RND}.f64.<s64|u64> d, a
w -> e: cvt.{_RND}<|.sat>.f16.<s8|u8|s32|u32> d, a
h -> e: cvt.{_RND}.f16.<s16|u16> d, a
l -> e: cvt.{_RND}.f16.<s64|u64> d, a
w -> g: cvt.{_RND}.bf16.<s32|u32> d, a
h -> g: cvt.{_RND}.bf16.<s16|u16> d, a
l -> g: cvt.{_RND}.bf16.<s64|u64> d, a
s -> s: cvt<|.rni|.rzi|.rmi|.rpi><|.ftz><|.sat>.f32.f32 d, a
d -> D: cvt<|.rni|.rzi|.rmi|.rpi><|.sat>.f64.f64 d, a
e -> e: cvt<|.rni|.rzi|.rmi|.rpi><|.sat>.f16.f16 d, a
g -> g: cvt<|.rni|.rzi|.rmi|.rpi>.bf16.bf16 d, a
s -> D: cvt<|.ftz><|.sat>.f64.f32 d, a
d -> s: cvt.{_RND}<|.ftz><|.sat>.f32.f64 d, a
e -> s: cvt<|.ftz><|.sat>.f32.f16 d, a
e -> D: cvt<|.sat>.f64.f16 d, a
g -> s: cvt<|.ftz>.f32.bf16 d, a
g -> D: cvt.f64.bf16 d, a
s -> e: cvt.{_RND}<|.ftz><|.sat>.f16.f32 d, a
s -> e: cvt.<rn|rz><.relu|.satfinite|.relu.satfinite>.f16.f32 d, a
d -> e: cvt.{_RND}<|.sat>.f16.f64 d, a
g -> e: cvt.{_RND}.f16.bf16 d, a
s -> g: cvt.{_RND}<|.ftz>.bf16.f32 d, a
s -> g: cvt.<rn|rz><.relu|.satfinite|.relu.satfinite>.bf16.f32 d, a
d -> g: cvt.{_RND}.bf16.f64 d, a
e -> g: cvt.{_RND}.bf16.f16 d, a
s s -> w: cvt.<rn|rz><|.relu><|.satfinite>.<f16x2|bf16x2>.f32 d, a, b
s -> w: cvt.<rna|rna.satfinite|rn|rz|rn.relu|rz.relu>.tf32.f32 d, a
s s -> h: cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f32 d, a, b
E -> h: cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f16x2 d, a
k -> w: cvt.rn<|.relu>.f16x2.e4m3x2 d, a
K -> w: cvt.rn<|.relu>.f16x2.e5m2x2 d, a
w w -> w: cvt.pack.sat.<s16|u16>.s32 d, a, b
w w w -> w: cvt.pack.sat.<s8|u8>.s32.b32 d, a, b, c
w w w -> w: cvt.pack.sat.<s4|u4|s2|u2>.s32.b32 d, a, b, c
"""

APPROXIMATIONS = """
s s -> ~: div.<approx|full><|.ftz>.f32 d, a, b
s -> ~: <rcp|sqrt|rsqrt|sin|cos|lg2|ex2>.approx<|.ftz>.f32 d, a
s -> ~: tanh.approx.f32 d, a
d -> ~: <rcp.approx.ftz|rsqrt.approx.ftz|rsqrt.approx>.f64 d, a
e -> ~: <ex2|tanh>.approx.f16 d, a
E -> ~: <ex2|tanh>.approx.f16x2 d, a
g -> ~: <ex2.approx.ftz|tanh.approx>.bf16 d, a
G -> ~: <ex2.approx.ftz|tanh.approx>.bf16x2 d, a
"""

MEMORY = """
l -> h: st.$.b64 [%$], a; ld.$.<b8|u8|s8|b16|u16|s16> d, [%$+2]
l -> w: st.$.b64 [%$], a; ld.$.<b8|u8|s8|b16|u16|s16|b32|u32|s32> d, [%$+4]
l -> w: st.$.b64 [%$+8], a; ld.$.<u8|s8> d, [%$+13]
l -> l: st.$.b64 [%$], a; ld.$.<b8|u8|s8|b16|u16|s16|b32|u32|s32|b64|u64|s64> d, [%$]
l -> l: st.$.b64 [%$], a; ld.$.f64 d, [%$]
l -> w: st.$.<f64|u64|s64> [%$], a; ld.$.f32 d, [%$+4]
l w -> l: st.$.b64 [%$], a; st.$.<b8|u8|s8|b16|u16|s16|b32> [%$+4], b; ld.$.b64 d, [%$]
l h -> l: st.$.b64 [%$], a; st.$.<b8|u8|b16|s16> [%$+2], b; ld.$.b64 d, [%$]
l l -> l: st.$.b64 [%$], a; st.$.<b8|s8|b16|b32|u32> [%$], b; ld.$.b64 d, [%$]
l l -> l l: st.$.v2.b64 [%$], {a, b}; ld.$.v2.<b64|u64|f64> {e, d}, [%$]
l l -> w w w w: st.$.v2.b64 [%$], {a, b}; ld.$.v4.<b32|s32|f32|u8|s8|s16> {d, e, m, o}, [%$]
l l -> w w: st.$.v2.b64 [%$], {a, b}; ld.$.v4.<b32|s8> {_, d, _, e}, [%$]
l l -> h h: st.$.v2.b64 [%$], {a, b}; ld.$.v2.<b16|u8|s8|u16> {d, e}, [%$+4]
w w w w -> l l: st.$.v4.<b32|f32> [%$], {a, b, c, f}; ld.$.v2.b64 {d, e}, [%$]
l w w -> l: st.$.b64 [%$], a; st.$.v2.<b8|b16> [%$], {b, c}; ld.$.b64 d, [%$]
l -> l: cvta.$.u64 u, %$; st.b64 [u], a; ld.$.u64 d, [%$]
l -> w: cvta.$.u64 u, %$; st.$.b64 [%$], a; ld.<u8|s8|s16|s32> d, [u+4]
l -> l: cvta.$.u64 u, %$; cvta.to.$.u64 u, u; st.$.b64 [u], a; ld.$.s32 d, [%$+4]
l -> p: cvta.$.u64 u, %$; isspacep.<global|shared|local> d, u
l -> p: cvta.const.u64 u, %const; isspacep.<shared|local> d, u
l -> l: st.volatile.#.b64 [%#], a; ld.volatile.#.<s8|u16|s32|b64> d, [%#]
l -> l: st.relaxed.<cta|gpu>.global.b64 [%global], a; ld.<acquire|relaxed>.<gpu|sys>.global.<s16|b64> d, [%global]
l -> w: st.release.gpu.global.b64 [%global], a; ld.acquire.gpu.global.<s8|u8|s16|u16|b32> d, [%global]
l -> l: st.global<|.cg|.cs|.wt>.b64 [%global], a; ld.global<|.ca|.cg|.cs|.cv>.u64 d, [%global]
w -> l: and.b32 t, a, 48; cvt.u64.u32 u, t; add.u64 u, u, %const; ld.const.<b8|s8|u16|s16|s32|b64> d, [u+8]
w -> l: and.b32 t, a, 48; cvt.u64.u32 u, t; add.u64 u, u, %const; cvta.const.u64 u, u; ld.<s8|s32|b64> d, [u+8]
w -> w w: and.b32 t, a, 48; cvt.u64.u32 u, t; add.u64 u, u, %const; ld.const.v2.<b32|s16> {d, e}, [u]
"""

ATOMICS = """
w w -> w w: st.#.b32 [%#], a; atom.#.<and|or|xor|exch>.b32 d, [%#], b; ld.#.b32 e, [%#]
l l -> l l: st.#.b64 [%#], a; atom.#.<and|or|xor|exch>.b64 d, [%#], b; ld.#.b64 e, [%#]
w w -> w w: st.#.b32 [%#], a; atom.#.<add|min|max>.<u32|s32> d, [%#], b; ld.#.b32 e, [%#]
w w -> w w: st.#.b32 [%#], a; atom.#.<inc|dec>.u32 d, [%#], b; ld.#.b32 e, [%#]
l l -> l l: st.#.b64 [%#], a; atom.#.<add.u64|min.u64|max.u64|min.s64|max.s64> d, [%#], b; ld.#.b64 e, [%#]
s s -> w s: st.#.b32 [%#], a; atom.#.add.f32 d, [%#], b; ld.#.b32 e, [%#]
d d -> l D: st.#.b64 [%#], a; atom.#.add.f64 d, [%#], b; ld.#.b64 e, [%#]
e e -> h e: st.#.b16 [%#], a; atom.#.add.noftz.f16 d, [%#], b; ld.#.b16 e, [%#]
g g -> h g: st.#.b16 [%#], a; atom.#.add.noftz.bf16 d, [%#], b; ld.#.b16 e, [%#]
E E -> w E: st.#.b32 [%#], a; atom.#.add.noftz.f16x2 d, [%#], b; ld.#.b32 e, [%#]
G G -> w G: st.#.b32 [%#], a; atom.#.add.noftz.bf16x2 d, [%#], b; ld.#.b32 e, [%#]
n n w -> w w: st.#.b32 [%#], a; atom.#.cas.b32 d, [%#], b, c; ld.#.b32 e, [%#]
l l l -> l l: st.#.b64 [%#], a; atom.#.cas.b64 d, [%#], b, c; ld.#.b64 e, [%#]
h h h -> h h: st.#.b16 [%#], a; atom.#.cas.b16 d, [%#], b, c; ld.#.b16 e, [%#]
w w -> w: st.#.b32 [%#], a; red.#.<and.b32|or.b32|xor.b32|add.u32> [%#], b; ld.#.b32 d, [%#]
w w -> w: st.#.b32 [%#], a; red.#.<min.s32|max.u32|inc.u32|dec.u32> [%#], b; ld.#.b32 d, [%#]
l l -> l: st.#.b64 [%#], a; red.#.<and.b64|or.b64|xor.b64|add.u64|min.s64|max.u64> [%#], b; ld.#.b64 d, [%#]
s s -> s: st.#.b32 [%#], a; red.#.add.f32 [%#], b; ld.#.b32 d, [%#]
w w -> w w: st.#.b32 [%#], a; atom.<relaxed|acquire|release|acq_rel>.<cta|sys>.#.add.u32 d, [%#], b; ld.#.b32 e, [%#]
w w -> w w: cvta.#.u64 u, %#; st.b32 [u], a; atom.<max.s32|exch.b32|add.u32> d, [u], b; ld.#.b32 e, [%#]
"""

WARPS = """
-> w p: shfl.sync.<up|down|bfly|idx>.b32 d|e, a, b, c, %mask
-> w p: shfl.sync.<up|down|bfly|idx>.b32 d|e, a, 3, <0|0x1f|0x1800|0x181f|0x1c03>, %mask
-> w: shfl.sync.<up|down|bfly|idx>.b32 d, a, 9, 0x1f, %mask
-> p: vote.sync.<all|any|uni>.pred d, <|!>q, %mask
-> w: vote.sync.ballot.b32 d, <|!>q, %mask
-> w: match.any.sync.b32 d, %few, %mask
-> w: match.any.sync.b64 d, %few8, %mask
-> w p: match.all.sync.b32 d|e, %few, %mask
-> w p: match.all.sync.b64 d|e, %few8, %mask
-> w: match.all.sync.b32 d, %few, %mask
-> w: redux.sync.<add.u32|add.s32|min.u32|max.u32|min.s32|max.s32|and.b32|or.b32|xor.b32> d, a, %mask
-> w p: elect.sync d|e, %mask
"""

BARRIERS = """
-> w: <bar.red|bar.cta.red|barrier.red|barrier.cta.red>.popc.u32 d, <0|5>, <|!>q
-> p: <bar.red|barrier.cta.red>.<and|or>.pred d, 0, <|!>q
-> w: bar.red.popc.u32 d, 1, 96, q
-> p: bar.red.<and|or>.pred d, 2, 96, <|!>%yes
"""

REGISTERS = """
-> w: mov.u32 d, %<tid|ntid|ctaid|nctaid>.<x|y|z>
-> w: mov.u32 d, %<cluster_ctaid|cluster_nctaid|clusterid|nclusterid>.<x|y|z>
-> w: mov.u32 d, %<laneid|lanemask_eq|lanemask_lt|lanemask_le|lanemask_gt|lanemask_ge>
-> w: mov.u32 d, %<cluster_ctarank|cluster_nctarank>
-> w: mov.u32 d, WARP_SZ
-> h: mov.u16 d, %<tid|ctaid>.x
-> l: cvt.u64.u32 d, %<tid|nctaid>.y
-> p: mov.pred d, %is_explicit_cluster
"""

CONSTANTS = ", ".join(hex(0x8123456789ABCDEF * (k + 1) % 2**64) for k in range(9))
"""What is at %const: words of 64 bits."""


TABLES = {
    "integers": INTEGERS,
    "logic": LOGIC,
    "comparisons": COMPARISONS,
    "floats": FLOATS,
    "halves": HALVES,
    "conversions": CONVERSIONS,
    "approximations": APPROXIMATIONS,
    "memory": MEMORY,
    "atomics": ATOMICS,
}
