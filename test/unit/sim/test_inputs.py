"""Generated inputs, and files of arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.diagnostics import IRError
from coconet_ir.sim.elements import BF16, ELEMENTS, F16, Array, same_bits
from coconet_ir.sim.executor import run
from coconet_ir.sim.inputs import MAX_INTEGER, generate, load, save
from coconet_ir.sim.mesh import Mesh

TEXT = """layout.mesh @mesh(dp = 3, tp = 2)
func.func @f(%g: tensor<?x4xf16, #layout.dist<dp = local, tp = sliced(1)>>, %w: tensor<?xbf16>,
    %r: tensor<?xf32, #layout.dist<dp = root(1)>>, %i: tensor<5xi8>, %b: tensor<9xi1>, %k: f32, %n: i64,
    %o: tensor<4xi64>) {
  %p = comp.segment_reduce sum %w, %o : (tensor<?xbf16>, tensor<4xi64>) -> tensor<3xbf16>
  func.return
}"""
MESH = Mesh(("dp", "tp"), (3, 2))

Program = Callable[[str], FuncOp]


def _generate(program: Program, seed: int = 0, **shapes: tuple[int, ...]) -> dict[str, Array]:
    made = generate(program(TEXT), MESH, {}, shapes, seed)
    return {name: np.asarray(value) for name, value in made.items()}


def test_generated_inputs(program: Program) -> None:
    made = _generate(program, w=(50,))
    shapes = {name: array.shape for name, array in made.items()}
    assert shapes == {
        "g": (3, 10, 4), "w": (50,), "r": (11,), "i": (5,), "b": (9,), "k": (), "n": (), "o": (4,),
    }  # fmt: skip
    assert (made["g"].dtype, made["w"].dtype, made["i"].dtype) == (F16, BF16, ELEMENTS["i8"])
    assert ((made["g"] >= 0) & (made["g"] <= 1)).all()
    assert not same_bits(made["g"][0], made["g"][1])
    assert ((made["i"] >= 0) & (made["i"] < MAX_INTEGER)).all()
    assert made["o"][0] == 0
    assert made["o"][-1] == 50
    assert (np.diff(made["o"]) >= 0).all()
    run(program(TEXT), {}, made)
    run(program(TEXT), {}, made, exact=True)


def test_the_seed_decides(program: Program) -> None:
    one, same, other = (_generate(program, seed) for seed in (1, 1, 2))
    assert all(same_bits(one[name], same[name]) for name in one)
    assert not same_bits(one["w"], other["w"])
    assert not same_bits(one["w"][:10], one["r"][:10].astype(BF16))


def test_given_inputs_are_kept_and_fix_sizes(program: Program) -> None:
    given = {"g": np.ones((3, 6, 4), F16), "k": 0.25}
    made = generate(program(TEXT), MESH, given, {"w": (8,)}, 0)
    assert made["g"] is given["g"]
    assert made["k"] == 0.25
    assert np.shape(made["w"]) == (8,)


@pytest.mark.parametrize("name", ["x", "f"])
def test_unknown_names(program: Program, name: str) -> None:
    with pytest.raises(IRError, match=f"has no argument '{name}'; there are: g, w, r"):
        generate(program(TEXT), MESH, {}, {name: (3,)}, 0)


def test_files_keep_every_type(tmp_path: Path) -> None:
    arrays = {name: np.arange(6).reshape(2, 3).astype(dtype) for name, dtype in ELEMENTS.items()}
    arrays |= {"file": np.ones(2), "empty": np.zeros((0, 3), BF16), "scalar": np.array(2.5)}
    path = str(tmp_path / "a.npz")
    save(path, arrays)
    back = load(path)
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].shape == array.shape
        assert same_bits(back[name].view(array.dtype), array)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]


def test_bad_files(tmp_path: Path) -> None:
    text, single, pickled = (tmp_path / name for name in ("a.npz", "b.npy", "c.npz"))
    text.write_text("no arrays")
    np.save(single, np.ones(2))
    np.savez(pickled, x=np.array([{}], object))
    cut = tmp_path / "d.npz"
    cut.write_bytes(pickled.read_bytes()[:100])
    for path, message in (
        (text, "is no .npz file of plain arrays$"),
        (single, "holds one array"),
        (pickled, "is no .npz file of plain arrays$"),
        (cut, "is no .npz file of plain arrays"),
        (tmp_path / "none.npz", "cannot read"),
    ):
        with pytest.raises(IRError, match=message):
            load(str(path))
    with pytest.raises(IRError, match="cannot write"):
        save(str(tmp_path / "no" / "such.npz"), {})
