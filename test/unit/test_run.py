"""`coconet-run` as a user calls it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from coconet_ir.sim.inputs import load, save
from coconet_ir.tools.run import main

EXAMPLES = Path(__file__).parents[2] / "examples"
ADAM = str(EXAMPLES / "adam.mlir")
REORDERED = str(EXAMPLES / "expected" / "adam.reorder.mlir")

Capture = pytest.CaptureFixture[str]

TABLE = """layout.mesh @mesh(dp = 2)
func.func @f(%x: tensor<3xf32, #layout.dist<dp = local>>, %n: i32) -> (tensor<3xf32>, i32, tensor<0xi1>) {
  %e = arith.constant dense<> : tensor<0xi1>
  %s = coll.all_reduce sum %x over [dp] : tensor<3xf32, #layout.dist<dp = local>> -> tensor<3xf32>
  func.return %s, %n, %e : tensor<3xf32>, i32, tensor<0xi1>
}
"""


def _write(folder: Path, text: str, name: str = "p.mlir") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_table(tmp_path: Path, capsys: Capture) -> None:
    path = _write(tmp_path, TABLE)
    inputs = str(tmp_path / "in.npz")
    save(inputs, {"x": np.array([[1, 2, 3], [4, 5, -7.5]], np.float32)})
    assert main([path, "--inputs", inputs, "--set", "n=-3"]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    lines = found.out.splitlines()
    assert lines[0] == f"{path}: @f on 2 rank(s) (dp = 2)"
    assert [line.split()[:6] for line in lines[1:2]] == [
        ["output", "shape", "type", "layout", "min", "max"]
    ]
    rows = [line.split()[:6] for line in lines[3:]]
    assert rows == [
        ["result0", "3", "f32", "replicated", "-4.5", "7"],
        ["result1", "scalar", "i32", "replicated", "-3", "-3"],
        ["result2", "0", "i1", "replicated", "-", "-"],
    ]


def test_outputs_are_written(tmp_path: Path, capsys: Capture) -> None:
    first, second = str(tmp_path / "a.npz"), str(tmp_path / "b.npz")
    assert main([ADAM, "--mesh", "dp=3", "--shape", "w=17", "--outputs", first]) == 0
    assert main([ADAM, "--mesh", "dp=3", "--shape", "p=17", "--outputs", second]) == 0
    one, other = load(first), load(second)
    assert set(one) == {"m", "v", "w", "p"}
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert one["p"].shape == (17,)
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "b.npz"]


def test_a_seed_changes_the_outputs(capsys: Capture) -> None:
    tables: list[str] = []
    for seed in ("1", "1", "2"):
        assert main([ADAM, "--seed", seed]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1] != tables[2]


def test_programs_that_agree(capsys: Capture) -> None:
    assert main([ADAM, "--mesh", "dp=5", "--shape", "w=13", "--compare", REORDERED]) == 0
    found = capsys.readouterr()
    assert f"compared with {REORDERED}" in found.out
    assert found.out.count("equal") == 4
    assert "DIFFERS" not in found.out


def test_programs_that_differ(tmp_path: Path, capsys: Capture) -> None:
    text = Path(ADAM).read_text()
    wrong = _write(tmp_path, text.replace("%wnew = arith.subf %w", "%wnew = arith.addf %w"))
    assert main([ADAM, "--compare", wrong]) == 1
    found = capsys.readouterr()
    assert "outputs differ; --exact tells rounding from a wrong result" in found.err
    verdicts = [line.split()[-1] for line in found.out.splitlines()[-4:]]
    assert verdicts == ["same", "same", "DIFFERS", "DIFFERS"]
    assert main([ADAM, "--compare", wrong, "--exact"]) == 1
    assert "differ by more than 1e-12" in capsys.readouterr().err


def test_rounding_is_no_difference_when_exact(capsys: Capture) -> None:
    lamb, reordered = EXAMPLES / "lamb.mlir", EXAMPLES / "expected" / "lamb.reorder.mlir"
    arguments = [str(lamb), "--mesh", "dp=7", "--shape", "w=1003", "--compare", str(reordered)]
    assert main([*arguments, "--exact"]) == 0
    assert "DIFFERS" not in capsys.readouterr().out


def test_layouts_are_inferred(tmp_path: Path, capsys: Capture) -> None:
    path = _write(
        tmp_path,
        """layout.mesh @mesh(dp = 2)
        func.func @f(%x: tensor<?xf32> {layout.of = #layout.dist<dp = sliced(0)>}, %y: tensor<?xf32>)
            -> (tensor<?xf32> {layout.of = #layout.dist<dp = sliced(0)>}) {
          %z = arith.addf %x, %y : tensor<?xf32>
          func.return %z : tensor<?xf32>
        }""",
    )
    assert main([path]) == 0
    assert "dp = sliced(0)" in capsys.readouterr().out


def test_customs_are_loaded(tmp_path: Path, capsys: Capture) -> None:
    path = _write(
        tmp_path,
        """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
          %y = comp.custom @test_run_half(%x) : (tensor<4xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        }""",
    )
    code = _write(
        tmp_path,
        "import numpy as np\nfrom coconet_ir.analysis.customs import custom\n"
        "def half(x):\n    return x * x.dtype.type(0.5)\n"
        'custom("test_run_half", "[n] -> [n]", half)\n',
        "half.py",
    )
    assert main([path, "--load", code]) == 0
    assert "result0" in capsys.readouterr().out


def test_no_outputs(tmp_path: Path, capsys: Capture) -> None:
    assert main([_write(tmp_path, "func.func @f() {\n  func.return\n}")]) == 0
    assert capsys.readouterr().out.endswith("@f on 1 rank(s): no outputs\n")


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("i64", "-9223372036854775808", "-9.22337e+18"),
        ("i64", "99999999999999999999", None),
        ("i64", "9223372036854775808", None),
        ("i1", "true", "1"),
        ("i1", "2", None),
        ("f32", "16777217", "1.67772e+07"),
        ("f32", "-inf", "-inf"),
        ("f32", "1e39", None),
        ("bf16", "1e39", None),
        ("f8E4M3FN", "448", "448"),
        ("f8E4M3FN", "1000", None),
        ("f8E4M3FN", "inf", None),
        ("f8E4M3FN", "nan", "nan"),
        ("f8E5M2", "inf", "inf"),
        ("f64", "1e300", "1e+300"),
    ],
)
def test_scalars_must_be_in_range(
    type: str, text: str, value: str | None, tmp_path: Path, capsys: Capture
) -> None:
    path = _write(
        tmp_path, f"func.func @f(%k: {type}) -> {type} {{\n  func.return %k : {type}\n}}\n"
    )
    assert main([path, "--set", f"k={text}"]) == (1 if value is None else 0)
    found = capsys.readouterr()
    if value is None:
        assert f"is given a number for %k that is out of range for {type}" in found.err
    else:
        assert found.out.splitlines()[-1].split()[4] == value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.mlir"], "error: cannot read 'none.mlir'"),
        ([ADAM, "--mesh", "tp=2"], "the program's mesh has no axis 'tp'"),
        ([ADAM, "--mesh", "dp=0"], "axis 'dp' must have at least 1 rank, not 0"),
        ([ADAM, "--func", "sgd"], "no function named 'sgd'; there are: adam"),
        ([ADAM, "--set", "mu=1"], "has no argument 'mu'"),
        ([ADAM, "--shape", "mu=1"], "has no argument 'mu'"),
        ([ADAM, "--set", "lr=1e50"], "is given a number for %lr that is out of range for f32"),
        (
            [ADAM, "--set", "w=0.1"],
            "takes %w as a tensor, and --set is for scalars: give its elements with --inputs",
        ),
        ([ADAM, "--shape", "w=1", "--shape", "m=2"], "needs equal sizes"),
        ([ADAM, "--shape", "w=99999999999999"], "elements, more than"),
        ([ADAM, "--inputs", ADAM], "is no .npz file of plain arrays"),
        ([ADAM, "--outputs", "/none/such/file.npz"], "cannot write '/none/such/file.npz'"),
        ([ADAM, "--load", "none.py"], "cannot read 'none.py'"),
        ([ADAM, "--compare", str(EXAMPLES / "sgd.mlir")], "has no argument"),
    ],
)
def test_errors(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(arguments) == 1
    found = capsys.readouterr()
    assert message in found.err
    assert "Traceback" not in found.err
    assert "internal error" not in found.err


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def full(*arguments: object) -> None:
        raise MemoryError("Unable to allocate 58.2 TiB")

    monkeypatch.setattr("coconet_ir.sim.inputs.generate", full)
    assert main([ADAM]) == 1
    assert "the run needs more memory than there is: Unable" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required"),
        ([ADAM, "--mesh", "dp"], "expected NAME=VALUE, not 'dp'"),
        ([ADAM, "--mesh", "dp=x"], "the size of 'dp' must be a number, not 'x'"),
        ([ADAM, "--mesh", "dp=2,dp=3"], "axis 'dp' is given twice"),
        ([ADAM, "--shape", "w=3xy"], "a size of 'w' must be a number, not 'y'"),
        ([ADAM, "--set", "lr=fast"], "the value of 'lr' must be a number, not 'fast'"),
        ([ADAM, "--set", "lr=1", "--set", "%lr=2"], "argument --set: 'lr' is given twice"),
        ([ADAM, "--shape", "w=1", "--shape", "w=1"], "argument --shape: 'w' is given twice"),
        ([ADAM, "--mesh", "dp=2", "--mesh", "dp=3"], "argument --mesh: 'dp' is given twice"),
        ([ADAM, "--set", "lr=1e500"], "the value of 'lr' is out of range for every type"),
        (["-", "--compare", "-"], "only one of the programs and schedules can be standard input"),
        ([ADAM, "--seed", "-1"], "the seed must be at least 0"),
        ([ADAM, "--backend", "cloud"], "invalid choice: 'cloud'"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
