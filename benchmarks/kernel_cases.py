"""The programs of `benchmarks/kernels.py`: their inputs, what they move, what they must give, and how torch does it.

References are NumPy in f64. torch is passed in: nothing here imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from coconet_ir.sim.elements import ELEMENTS
from coconet_ir.sim.philox import uniform_words

PROGRAMS = Path(__file__).parent / "kernels"
Array = npt.NDArray[Any]
Tensors = Mapping[str, Any]
Scalars = Mapping[str, float | int]
Torch = Callable[[Any, Any, Scalars], None]
"""What torch does: torch itself, the arguments and `out` by attribute, and the scalars."""

ADAM: Scalars = {
    "lr": 1e-3,
    "beta1": 0.9,
    "beta2": 0.999,
    "eps": 1e-8,
    "decay": 0.01,
    "step": 3.0,
}
DROP = 0.1


@dataclass(frozen=True)
class Case:
    """A program. Tensors are words: `name:dims:type`, dims the letters of the shape, `name+` if nothing is negative."""

    name: str
    tensors: str
    moved: str
    """The tensors read and written, a word each time."""
    shape: Mapping[str, int]
    """The sizes at which it is timed."""
    reference: Callable[[Mapping[str, Array], Scalars], dict[str, Array]]
    """The expected values of updated arguments, and of the result as `out`."""
    baselines: Mapping[str, Torch]
    out: str = ""
    """The result: `dims:type`."""
    scalars: Scalars = field(default_factory=dict[str, float | int])
    bound: float | None = None
    """The fraction of copy bandwidth that it must reach."""
    ratio: float | None = None
    """How much faster than the first baseline it must be."""

    @property
    def path(self) -> str:
        """The program's text."""
        return str(PROGRAMS / f"{self.name}.mlir")

    def arrays(self, shape: Mapping[str, int]) -> dict[str, tuple[tuple[int, ...], str, bool]]:
        """Shape and type of each tensor, and of the result, and whether it has no negative elements."""
        words = [word.split(":") for word in self.tensors.split()]
        if self.out:
            words.append(["out", *self.out.split(":")])
        return {
            name.rstrip("+"): (tuple(shape[d] for d in dims), type, name.endswith("+"))
            for name, dims, type in words
        }

    def bytes(self, shape: Mapping[str, int]) -> int:
        """What must move between the device and its memory."""
        arrays = self.arrays(shape)
        return sum(
            prod(arrays[name][0]) * ELEMENTS[arrays[name][1]].itemsize
            for name in self.moved.split()
        )

    def draw(self, shape: Mapping[str, int], seed: int) -> dict[str, Array]:
        """Random arguments."""
        random = np.random.default_rng(seed)
        found: dict[str, Array] = {}
        for name, (dims, type, positive) in self.arrays(shape).items():
            if name != "out":
                values = random.standard_normal(dims)
                found[name] = (np.abs(values) if positive else values).astype(ELEMENTS[type])
        return found


def _exact(x: Mapping[str, Array]) -> dict[str, Array]:
    return {name: value.astype(np.float64) for name, value in x.items()}


def _adam(g: Array, x: Mapping[str, Array], s: Scalars) -> tuple[Array, Array, Array]:
    """The moments, and the direction with decay."""
    m = s["beta1"] * x["m"] + (1 - s["beta1"]) * g
    v = s["beta2"] * x["v"] + (1 - s["beta2"]) * g * g
    mean, square = m / (1 - s["beta1"] ** s["step"]), v / (1 - s["beta2"] ** s["step"])
    return m, v, mean / (np.sqrt(square) + s["eps"]) + s["decay"] * x["w"]


def adam(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """AdamW."""
    x = _exact(arguments)
    m, v, move = _adam(x["g"], x, s)
    return {"m": m, "v": v, "w": x["w"] - s["lr"] * move}


def adam_mixed(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """AdamW from bf16 gradients, which also leaves bf16 weights."""
    x = _exact(arguments)
    m, v, move = _adam(x["grad"] * s["inv_scale"], x, s)
    w = x["w"] - s["lr"] * move
    return {"m": m, "v": v, "w": w, "p": w}


def lamb(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """LAMB: AdamW's direction, scaled by the norm of the weights over its own."""
    x = _exact(arguments)
    m, v, move = _adam(x["g"], x, s)
    trust = np.linalg.norm(x["w"]) / np.linalg.norm(move)
    return {"m": m, "v": v, "w": x["w"] - s["lr"] * trust * move}


def bias_dropout_residual(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """Kept elements are those whose word is large enough; the sums of bf16 are rounded, as the program says."""
    x = _exact(arguments)
    shifted = (x["x"] + x["bias"]).astype(ELEMENTS["bf16"]).astype(np.float64)
    words = uniform_words(np.arange(shifted.size), int(s["seed"]), 1, 0).reshape(shifted.shape)
    kept = words >= int(float(np.float32(DROP)) * 2.0**32)
    return {"out": np.where(kept, shifted / (1 - float(np.float32(DROP))), 0) + x["residual"]}


def rmsnorm(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """Rows over the root of their mean square, times the weight."""
    x = _exact(arguments)
    root = np.sqrt(np.mean(x["x"] ** 2, axis=1, keepdims=True) + 1e-6)
    return {"out": x["x"] / root * x["weight"]}


def softmax(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """By rows."""
    x = arguments["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": e / e.sum(axis=1, keepdims=True)}


def cast(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """The same numbers."""
    return {"out": arguments["x"]}


def transpose(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """Rows as columns."""
    return {"out": arguments["x"].T}


def total(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """The sum."""
    return {"out": np.asarray(np.sum(arguments["x"], dtype=np.float64))}


def norm(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """The Euclidean norm."""
    return {"out": np.asarray(np.linalg.norm(arguments["x"].astype(np.float64)))}


def chain(arguments: Mapping[str, Array], s: Scalars) -> dict[str, Array]:
    """Five steps."""
    x = arguments["x"].astype(np.float64)
    return {"out": (((x * s["s"] + x) * s["s"]) + x) ** 2}


def torch_adam(torch: Any, x: Any, s: Scalars) -> None:
    """torch's fused AdamW, alone: its optimizer also counts the step."""
    torch._fused_adamw_(
        *([x.w], [x.g], [x.m], [x.v], [], [x.step]),
        **{"lr": s["lr"], "beta1": s["beta1"], "beta2": s["beta2"], "eps": s["eps"]},
        **{"weight_decay": s["decay"], "amsgrad": False, "maximize": False},
    )


def torch_adam_mixed(torch: Any, x: Any, s: Scalars) -> None:
    """The same between two casts, with the scale in its own argument."""
    x.g.copy_(x.grad)
    torch_adam(torch, x, s)
    x.p.copy_(x.w)


def torch_lamb(torch: Any, x: Any, s: Scalars) -> None:
    """Operation by operation."""
    x.m.lerp_(x.g, 1 - s["beta1"])
    x.v.mul_(s["beta2"]).addcmul_(x.g, x.g, value=1 - s["beta2"])
    root = (x.v / (1 - s["beta2"] ** s["step"])).sqrt_().add_(s["eps"])
    move = (x.m / (1 - s["beta1"] ** s["step"])).div_(root).add_(x.w, alpha=s["decay"])
    trust = torch.linalg.vector_norm(x.w) / torch.linalg.vector_norm(move)
    x.w.sub_(move.mul_(trust * s["lr"]))


def torch_bias_dropout_residual(torch: Any, x: Any, s: Scalars) -> None:
    """Three kernels."""
    torch.add(torch.nn.functional.dropout(x.x + x.bias, DROP), x.residual, out=x.out)


def torch_rmsnorm(torch: Any, x: Any, s: Scalars) -> None:
    """torch's own."""
    torch.nn.functional.rms_norm(x.x, x.weight.shape, x.weight, 1e-6)


def torch_chain(torch: Any, x: Any, s: Scalars) -> None:
    """Five kernels."""
    a = torch.mul(x.x, s["s"])
    b = torch.add(a, x.x)
    c = torch.mul(b, s["s"])
    d = torch.add(c, x.x)
    torch.mul(d, d, out=x.out)


MANY = {"n": 334_000_000}
ROWS = {"r": 16_384, "c": 8_192}
F32 = "g:n:f32 w:n:f32 m:n:f32 v+:n:f32"
CASES = (
    Case(
        *("adam_f32", F32, "g w m v w m v", MANY, adam, {"fused": torch_adam}),
        scalars=ADAM,
        bound=0.97,
        ratio=1.18,
    ),
    Case(
        "adam_mixed",
        "grad:n:bf16 p:n:bf16 w:n:f32 m:n:f32 v+:n:f32",
        "grad w m v w m v p",
        MANY,
        adam_mixed,
        {"fused": torch_adam_mixed},
        scalars={**ADAM, "inv_scale": 1.0},
        bound=0.97,
        ratio=1.18,
    ),
    Case(
        *("lamb", F32, "g w m v m v w w w w", MANY, lamb, {"eager": torch_lamb}),
        scalars=ADAM,
        bound=0.90,
    ),
    Case(
        "bias_dropout_residual",
        "x:rc:bf16 bias:c:bf16 residual:rc:bf16",
        "x bias residual out",
        ROWS,
        bias_dropout_residual,
        {"eager": torch_bias_dropout_residual},
        out="rc:bf16",
        scalars={"seed": 20_261_129_000_001},
        bound=0.90,
    ),
    Case(
        *("rmsnorm", "x:rc:bf16 weight:c:bf16", "x weight out", ROWS, rmsnorm),
        {"rms_norm": torch_rmsnorm},
        out="rc:bf16",
        bound=0.90,
    ),
    Case(
        *("softmax", "x:rc:bf16", "x out", ROWS, softmax),
        {"softmax": lambda torch, x, s: torch.softmax(x.x, 1, out=x.out)},
        out="rc:bf16",
    ),
    Case(
        *("cast", "x:n:f32", "x out", MANY, cast),
        {"copy_": lambda torch, x, s: x.out.copy_(x.x)},
        out="n:bf16",
    ),
    Case(
        *("transpose", "x:rc:f32", "x out", ROWS, transpose),
        {"copy_": lambda torch, x, s: x.out.copy_(x.x.t())},
        out="cr:f32",
    ),
    Case(
        *(
            "sum",
            "x+:n:f32",
            "x",
            MANY,
            total,
        ),
        {"sum": lambda torch, x, s: torch.sum(x.x, 0, out=x.out)},
        out=":f32",
    ),
    Case(
        *("norm", "x:n:f32", "x", MANY),
        norm,
        {"norm": lambda torch, x, s: torch.linalg.vector_norm(x.x, out=x.out)},
        out=":f32",
    ),
)
CHAIN = Case(
    *("chain", "x:n:f32", "x out x out out x out x out out", {"n": 1 << 26}, chain),
    {"eager": torch_chain},
    out="n:f32",
    scalars={"s": 0.75},
)
TOLERANCES = {"f32": 1e-5, "bf16": 8e-3}
"""How far a tensor may be from the reference, as the norm of the difference over that of the reference."""


def error(found: Array, want: Array) -> float:
    """How far it is; not a number if anything is not one."""
    difference = np.linalg.norm(found.astype(np.float64) - want)
    return float(difference / (np.linalg.norm(want) or 1.0))
