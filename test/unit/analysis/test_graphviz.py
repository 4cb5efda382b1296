"""The drawing of dependences, read back by a parser of its own, against the uses of values."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from coconet_ir.analysis.graphviz import to_dot, to_svg
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.regions import RegionOp, YieldOp
from coconet_ir.program import Program
from coconet_ir.tools.opt import main

Reads = Callable[[FuncOp, SSAValue], set[Operation]]
EXAMPLES = Path(__file__).parents[3] / "examples"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[A-Za-z0-9_]+|[{}\[\];=,]')


@dataclass
class Graph:
    """What a text in Graphviz's language says."""

    labels: dict[str, str] = field(default_factory=dict[str, str])
    clusters: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The clusters around each node, outer first."""
    solid: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    dashed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def _text(token: str) -> str:
    """A string without its quotes; Graphviz takes \\" and \\\\ and breaks lines at \\n."""
    if not token.startswith('"'):
        return token
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], token[1:-1])


def _read(text: str) -> Graph:
    tokens = TOKEN.findall(text)
    assert re.sub(r"\s", "", text) == re.sub(r"\s", "", "".join(tokens))  # nothing was skipped
    graph, place = Graph(), 3
    assert tokens[:3] == ["digraph", "dependences", "{"]
    around: list[str] = []
    while place < len(tokens):
        match tokens[place : place + 3]:
            case ["subgraph", _, "{"]:
                around.append("")
                place += 3
            case ["}", *_]:
                if around:
                    around.pop()
                place += 1
            case ["label", "=", label]:
                around[-1] = _text(label)
                place += 4
            case [first, "->", second]:
                attributes, place = _attributes(tokens, place + 3)
                dashed = attributes.get("style") == "dashed"
                (graph.dashed if dashed else graph.solid).add((first, second))
            case [node, *_]:
                attributes, place = _attributes(tokens, place + 1)
                if node not in ("graph", "node"):
                    graph.labels[node] = attributes["label"]
                    graph.clusters[node] = tuple(around)
            case _:
                raise AssertionError(tokens[place:])
    assert not around
    return graph


def _attributes(tokens: list[str], place: int) -> tuple[dict[str, str], int]:
    """The attributes that stand there, and where the statement ends."""
    end = tokens.index(";", place)
    found = tokens[place:end]
    assert not found or (found[0], found[-1]) == ("[", "]")
    pairs = zip(found[1:-1:4], found[3:-1:4], strict=True)
    return {name: _text(value) for name, value in pairs}, end + 1


def _nodes(func: FuncOp, index: int) -> dict[Operation | BlockArgument, str]:
    """The names of what is drawn: arguments, then operations as they stand in the text."""
    ops = [op for op in func.body.walk() if not isinstance(op, RegionOp | YieldOp)]
    return {place: f"f{index}n{i}" for i, place in enumerate([*func.body.block.args, *ops])}


def _made_by(value: SSAValue) -> Operation | BlockArgument:
    if isinstance(value, BlockArgument):
        return value
    assert isinstance(value, OpResult)
    if isinstance(value.op, RegionOp):
        end = value.op.body.block.last_op
        assert end is not None
        return _made_by(end.operands[value.index])
    return value.op


def _check(module: ModuleOp, graph: Graph, reads_of: Reads) -> None:
    """Compare all nodes, clusters and edges."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    solid: set[tuple[str, str]] = set()
    dashed: set[tuple[str, str]] = set()
    count = 0
    for index, func in enumerate(functions):
        nodes = _nodes(func, index)
        count += len(nodes)
        for place, name in nodes.items():
            first, *rest = graph.labels[name].split("\n")
            if isinstance(place, BlockArgument):
                assert [first, *rest] == [place.name_hint, str(place.type)]
                assert graph.clusters[name] == (f"@{func.sym_name.data}",)
                continue
            assert place.name in (first, *rest)
            assert set(map(str, place.result_types)) <= {*rest}
            depth, parent = 1, place.parent_op()
            while parent is not func:
                assert parent is not None
                depth, parent = depth + 1, parent.parent_op()
            assert len(graph.clusters[name]) == depth
            for number, value in enumerate(place.operands):
                source = _made_by(value)
                if isinstance(place, UpdateOp) and number == 0:
                    dashed.add((nodes[source], name))
                else:
                    solid.add((nodes[source], name))
            if isinstance(place, UpdateOp):
                dashed.update((nodes[r], name) for r in reads_of(func, place.target) - {place})
    assert len(graph.labels) == count
    assert graph.solid == solid
    assert graph.dashed == dashed - solid


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, tangled: Callable[[int], FuncOp], reads_of: Reads) -> None:
    module = tangled(seed).parent_op()
    assert isinstance(module, ModuleOp)
    text = to_dot(module)
    _check(module, _read(text), reads_of)
    assert to_dot(module.clone()) == text


@pytest.mark.parametrize("name", ["attention_full", "lamb_segments", "moe"])
def test_examples(name: str, reads_of: Reads) -> None:
    module = Program.load(str(EXAMPLES / f"{name}.mlir")).module
    _check(module, _read(to_dot(module)), reads_of)


def test_any_name_is_a_label() -> None:
    """No program that is checked has such a name, but one that is being made might."""
    module = Program.parse("""
        func.func @f(%x: f32) {
          %y = arith.mulf %x, %x : f32
          func.return
        }""").module
    op = next(op for op in module.walk() if op.name == "arith.mulf")
    op.attributes["coconet.name"] = StringAttr('" \\ \\n { } [x] ; -> ü \7')
    graph = _read(to_dot(module))
    assert graph.labels["f0n1"] == '" \\ \\n { } [x] ; -> ü \\x07\narith.mulf\nf32'
    assert graph.solid == {("f0n0", "f0n1")}


def test_many_operations() -> None:
    """0.2 s for 10,000 operations; a quadratic step would take far longer."""
    block = Block(arg_types=[f32])
    value = block.args[0]
    for _ in range(10_000):
        block.add_op(op := AddfOp(value, block.args[0]))
        value = op.result
    module = ModuleOp([FuncOp("f", ((f32,), ()), Region(block))])
    start = time.perf_counter()
    text = to_dot(module)
    assert time.perf_counter() - start < 5
    assert text.count(" -> ") == 19_999


PROGRAM = "func.func @f(%x: f32) {\n  func.return\n}\n"


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "prog.mlir"
    path.write_text(PROGRAM)
    return str(path)


def _install_dot(folder: Path, script: str) -> None:
    """A program `dot` in a folder."""
    dot = folder / "dot"
    dot.write_text(f"#!/bin/sh\n{script}\n")
    dot.chmod(dot.stat().st_mode | stat.S_IXUSR)


def test_svg(
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    _install_dot(tmp_path, 'echo "drawn with $*"; cat')
    drawing = tmp_path / "drawing.svg"
    assert main([program, "--show-dependences=svg", "-o", str(drawing)]) == 0
    assert main([program, "--show-dependences"]) == 0
    assert drawing.read_text() == f"drawn with -Tsvg\n{capsys.readouterr().out}"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo wrong >&2; echo more >&2; exit 3", "failed with status 3: wrong"),
        ("exit 1", "failed with status 1: it says nothing"),
    ],
)
def test_a_dot_that_fails(
    program: str, script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    _install_dot(tmp_path, f"cat > /dev/null; {script}")
    assert main([program, "--show-dependences=svg"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"error: '{tmp_path / 'dot'}' {message}\n"


def test_no_dot(
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    drawing = tmp_path / "drawing.svg"
    assert main([program, "--show-dependences=svg", "-o", str(drawing)]) == 1
    assert not drawing.exists()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("error: a drawing needs the program 'dot' of Graphviz on the PATH")
    with pytest.raises(IRError, match=r"the program .dot. of Graphviz"):
        to_svg("digraph {}")
