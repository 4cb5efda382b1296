"""Damage programs, pass pipelines and schedules at random; the tools must answer each with a result or a diagnostic.

    python test/fuzz/fuzz.py --count 50000 --seed 1

Each case is a program for coconet-opt; what that prints is parsed again and, if small, run on simulated ranks. A
case fails when an exception leaves a tool, when it calls itself broken ("internal error"), when it fails without a
message, when it takes more than five seconds, and when text that it printed does not parse. It follows from its
number and the seed alone: `--only N` runs one and shows its text and what was printed.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from coconet_ir.tools.opt import main as opt
from coconet_ir.tools.run import main as simulate

ROOT = Path(__file__).parents[2]
LIMIT = 5.0
"""Seconds for one case."""

MEMORY = 6 << 30
"""Bytes of address space: what asks for more gets a MemoryError at once."""

TOKEN = re.compile(r'"[^"\n]*"|[%!#@^][\w.$-]*|[A-Za-z_][\w.$]*|\d[\w.+-]*|->|\s+|.', re.DOTALL)
NUMBERS = (
    *"0 1 -1 2 3 7 -0 1.5 -2.5e-3 1e400 -1e400 1e99999 0x7FC00000 0xZZ ? * ² ٣".split(),
    *"2147483648 4294967296 9223372036854775807 9223372036854775808 18446744073709551616".split(),
    *("-9223372036854775809", "1" + "0" * 40, "9" * 5000),
)
GARBAGE = (
    *'{ } ( ) [ ] < > , : = -> - ? * | / + ; \\ \' " "\\ "\\zz" "abc % %% @ @@ # #-} {-# ! ^ ^bb0: //'.split(),
    *("\0", "\x0b", "é", "ß", "漢", "\ufeff", "\u202e", "\ud7ff", "\u3000", "\r", "\t", "“"),
    *"""
    {}  {x}  {x = }  {coconet.name = 3}  {coconet.name = "sum"}  {unit = 0 : i64}  {unit = 8 : i64}  loc(unknown)
    loc("a":1:2)  loc(#loc)  attributes {a = 1}  fastmath<fast>  fastmath<x>  #layout.dist<>  #coll.axes<>
    #layout.dist<dp = local>  #layout.dist<dp = sliced(9)>  #layout.dist<zz = local>  #layout.dist<dp = sliced(0, 0)>
    #layout.dist<[dp, dp] = sliced(0)>  #layout.dist<dp = partial(avg)>  #layout.dist<dp = root(99999999999999999999)>
    #coll.axes<dp>  #coll.kind<avg>  #coll.order<ranks>  #comp.rule<[m] -> [m]>  #comp.rule<[m m] -> >
    #builtin.int<3>  dense<1>  dense<1.0> : tensor<99999999999xf32>  dense<[]> : tensor<0xf32>
    dense_resource<x> : tensor<1xf32>  tensor<4xf32>  tensor<?x?xf32>  tensor<*xf32>  tensor<f32, f32>
    tensor<4x4xf32, 3>  vector<4xf32>  tensor<4xi1>  tensor<4xindex>  tensor<4xf8E4M3FN>  tensor<4xcomplex<f32>>
    memref<4xf32>  i9999999  f16  bf16  f64  i1  i64  index  none  tuple<>  !x  !whole
    affine_map<(d0) -> (d0 mod 0)>  over [dp]  over []  over [dp, dp]  root 0  root [0, 1]  dims [0, 0]  perm [0]
    shift 1  pairs [[0, 1]]  pairs []  rule [m] -> [m]  linear(0)  joint(sum)  m = whole  k = reduction(avg)
    comp.yield  coll.yield  func.return  builtin.module {  module {  cf.br ^bb0  scf.if  arith.addf  func.call @f()
    "comp.update"() : () -> ()  "coll.fused"() ({}) : () -> ()  "arith.addf"() : () -> ()  "x"()
    """.strip()
    .replace("\n    ", "  ")
    .split("  "),
)
OPTIONS = "op dim unit axes into root func require over ops allow-more-bytes zz".split()
PASSES = "coconet-infer coconet-split coconet-slice coconet-reorder canonicalize cse dce zz".split()


STEP_OPTIONS = {
    "split": ("dim = 0", "unit = 2", 'axes = ["dp"]', 'into = "reduce-broadcast"', "root = [0]"),
    "slice": ("dim = 1", "unit = 4611686018427387904", "zz = 1"),
    "reorder": ("allow_more_bytes", "allow_more_bytes", 'ops = ["x"]'),
    "slice_state": ('args = ["w"]', 'func = "f"'),
    "fuse": ("between", "between", 'named = "k"'),
    "overlap": ("dim = 0", "chunks = 4611686018427387904", "between"),
    "combine": ('named = "k"',),
    "inline": (),
}
PAIRS = ("split", "slice")
SETS = ("fuse", "overlap", "combine")


class TooSlow(BaseException):
    """The case took too long; no handler of the tool catches it."""


def sources() -> list[str]:
    """The texts that are damaged."""
    folders = (
        "examples",
        "examples/expected",
        "examples/schedules",
        "test/filecheck/dialects/*",
        "test/filecheck/passes",
        "test/filecheck/schedules",
    )
    paths = sorted(path for folder in folders for path in ROOT.glob(f"{folder}/*.mlir"))
    return [path.read_text() for path in paths]


def scheduled() -> list[tuple[str, str]]:
    """Programs, and files of schedules that fit them."""
    paths = sorted((ROOT / "examples" / "schedules").glob("*.mlir"))
    return [((ROOT / "examples" / path.name).read_text(), path.read_text()) for path in paths]


# Damage

Tokens = list[str]


def _place(rng: random.Random, tokens: Tokens) -> int:
    """The index of a token that is no blank, if there is one."""
    for _ in range(8):
        index = rng.randrange(len(tokens))
        if not tokens[index].isspace():
            return index
    return rng.randrange(len(tokens))


def _delete(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    index = _place(rng, tokens)
    del tokens[index : index + rng.choice((1, 1, 1, 2, 5, 20))]


def _duplicate(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    start = _place(rng, tokens)
    part = tokens[start : start + rng.choice((1, 1, 3, 10, 40))]
    at = rng.choice((start, _place(rng, tokens)))
    tokens[at:at] = part * rng.choice((1, 1, 1, 2, 50))


def _swap(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    one, two = _place(rng, tokens), _place(rng, tokens)
    tokens[one], tokens[two] = tokens[two], tokens[one]


def _borrow(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    start = _place(rng, other)
    at = _place(rng, tokens)
    tokens[at : at + rng.choice((0, 1))] = other[start : start + rng.choice((1, 1, 2, 8, 30))]


def _same_kind(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    """Another token of the kind of one: value for value, word for word."""
    at = _place(rng, tokens)
    kind = tokens[at][:1]
    alike = [t for t in tokens if t[:1] == kind or (t[:1].isalpha() and kind.isalpha())]
    tokens[at] = rng.choice(alike)


def _number(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    numbers = [i for i, token in enumerate(tokens) if token[:1].isdigit()]
    tokens[rng.choice(numbers) if numbers else _place(rng, tokens)] = rng.choice(NUMBERS)


def _garbage(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    at = _place(rng, tokens)
    tokens[at : at + rng.choice((0, 1))] = [rng.choice(GARBAGE)]


def _character(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    at = _place(rng, tokens)
    token = tokens[at]
    place = rng.randrange(len(token) + 1)
    tokens[at] = (
        token[:place]
        + rng.choice((*GARBAGE[:30], "", "_", "0", "a"))
        + token[place + rng.choice((0, 1)) :]
    )


def _truncate(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    del tokens[_place(rng, tokens) :]


def _nest(rng: random.Random, tokens: Tokens, other: Tokens) -> None:
    opening, closing = rng.choice(
        ("()", "[]", "{}", "<>", ("tensor<", ">"), ("[[", "]]"), ("module {", "}"))
    )
    at, depth = _place(rng, tokens), rng.choice((1, 3, 100, 3000))
    tokens[at:at] = [opening * depth, closing * rng.choice((0, 1, depth))]


DAMAGES: tuple[Callable[[random.Random, Tokens, Tokens], None], ...] = (
    *(
        _delete,
        _delete,
        _duplicate,
        _swap,
        _swap,
        _borrow,
        _borrow,
        _same_kind,
        _same_kind,
        _same_kind,
    ),
    *(_number, _number, _garbage, _garbage, _character, _truncate, _nest),
)


def damaged(rng: random.Random, text: str, texts: Sequence[str]) -> str:
    """The text, damaged in one to four places, also by parts of others; now and then left as it is."""
    tokens = TOKEN.findall(text)
    other = TOKEN.findall(rng.choice(texts))
    for _ in range(rng.choice((0, 0, 1, 1, 1, 1, 2, 2, 3, 4))):
        if tokens:
            rng.choice(DAMAGES)(rng, tokens, other)
    return "".join(tokens)


def pipeline(rng: random.Random, text: str) -> str:
    """Passes on operations of the text, mostly with options that fit; sometimes damaged too."""
    names = re.findall(r"%(\w+)(?::\d+)? = ", text) or ["x"]
    reduced = re.findall(r"%(\w+) = coll\.all_reduce", text) or names
    moved = re.findall(r"%(\w+) = coll\.(?:all_gather|broadcast)", text) or names
    axes = re.findall(r"(\w+) = \d+", text) or ["dp"]
    made: list[str] = []
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5))):
        match rng.choice((*PASSES, "coconet-split", "coconet-reorder", "coconet-reorder")):
            case "coconet-split" as name:
                chosen = rng.choice(reduced)
                moved = [*moved, f"{chosen}_ag", f"{chosen}_bcast"]
                made.append(f"{name}{{op={chosen}{_some_options(rng, axes, names)}}}")
            case "coconet-slice" as name:
                chosen = rng.choice(names)
                moved = [*moved, f"{chosen}_ag"]
                made.append(
                    f"{name}{{op={chosen} over={rng.choice(axes)}{_some_options(rng, axes, names)}}}"
                )
            case "coconet-reorder" as name:
                extra = " allow-more-bytes=true" if rng.random() < 0.5 else ""
                ops = (
                    f" ops={','.join(rng.sample(names, min(2, len(names))))}"
                    if rng.random() < 0.3
                    else ""
                )
                made.append(f"{name}{{op={rng.choice(moved)}{extra}{ops}}}")
            case name:
                made.append(name)
    spec = ",".join(made)
    if spec and rng.random() < 0.1:
        at = rng.randrange(len(spec))
        spec = spec[:at] + rng.choice((*NUMBERS, *GARBAGE)) + spec[at + rng.choice((0, 1, 3)) :]
    return spec.replace("\0", "")  # no argument of a command holds it


def _some_options(rng: random.Random, axes: Sequence[str], names: Sequence[str]) -> str:
    if rng.random() < 0.6:
        return ""
    values = (*'0 1 2 -1 true rs-ag reduce-broadcast 0,1 1.5 "x"'.split(), *axes, *names)
    return "".join(
        f" {rng.choice(OPTIONS)}={rng.choice(values)}" for _ in range(rng.choice((1, 2)))
    )


def random_schedule(rng: random.Random, text: str) -> str:
    """A schedule of steps on operations of the text, mostly with options and handles that fit."""
    names = re.findall(r"%(\w+)(?::\d+)? = ", text) or ["x"]
    reduced = re.findall(r"%(\w+) = coll\.all_reduce", text) or names
    axis = rng.choice(re.findall(r"(\w+) = \d+", text) or ["dp"])
    gathers: list[str] = []
    lines: list[str] = []
    for step in rng.choices(tuple(STEP_OPTIONS), k=rng.choice((1, 1, 2, 3, 5))):
        handles = [f"%h{len(lines)}{letter}" for letter in ("abc" if step in SETS else "a")]
        made = [f"%m{len(lines)}", f"%n{len(lines)}"][: 2 if step in PAIRS else int(step in SETS)]
        given = ", ".join(handles)
        if step == "slice_state" or (step == "reorder" and gathers):
            given = "%program" if step == "slice_state" else gathers.pop()
        else:
            known = reduced if step in ("split", "combine") else names
            lines += [
                f'{handle} = transform.coconet.named "{rng.choice(known)}" in %program'
                for handle in handles
            ]
        if step in PAIRS:
            gathers.append(made[1])
        options = [option for option in STEP_OPTIONS[step] if rng.random() < 0.25]
        if step == "slice":
            options.append(f'over = ["{axis}"]')
        results = f"{', '.join(made)} = " if made else ""
        lines.append(f"{results}transform.coconet.{step} {given} {{{', '.join(options)}}}")
    body = "\n".join(lines)
    return (
        "module attributes {transform.with_named_sequence} {\n"
        f"transform.named_sequence @main(%program: !transform.any_op) {{\n{body}\ntransform.yield\n}}\n}}\n"
    )


# Running


@dataclass(frozen=True)
class Answer:
    """What the tool did."""

    code: int
    output: str
    errors: str
    seconds: float


def ask(arguments: Sequence[str], tool: Callable[[Sequence[str]], int] = opt) -> Answer:
    """Run a tool in this process. Raises what leaves it, `TooSlow` after the limit."""
    output, errors = io.StringIO(), io.StringIO()
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = tool(arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return Answer(code, output.getvalue(), errors.getvalue(), time.perf_counter() - start)


def problem(answer: Answer) -> str | None:
    """What is wrong with an answer, or None."""
    if "internal error" in answer.errors or "Traceback" in answer.errors:
        return "internal error"
    if answer.code not in (0, 1, 2):
        return f"exit status {answer.code}"
    if answer.code and "error" not in answer.errors:
        return "it fails without a message"
    return None


@dataclass(frozen=True)
class Case:
    """One damaged program, and how the tool is asked about it."""

    text: str
    arguments: tuple[str, ...]
    simulated: tuple[str, ...] | None
    """The arguments of coconet-run, if what is printed is run."""
    schedule: str | None
    """A file that is applied to the program."""
    reference: str
    """What stands behind the name of that file."""


def make_case(
    seed: int, number: int, texts: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Case:
    """The case of this number."""
    rng = random.Random(f"{seed}/{number}")
    text, schedule = rng.choice(texts), None
    match rng.choice(("written", "random", None, None)):
        case "written":
            text, schedule = rng.choice(pairs)
            schedule = damaged(rng, schedule, texts)
        case "random":
            text = rng.choice(pairs)[0]
            schedule = random_schedule(rng, text)
        case None:
            pass
    if schedule is None or rng.random() < 0.2:
        text = damaged(rng, text, texts)
    known = re.findall(r"named_sequence @(\w+)", schedule or "")
    reference = f":{rng.choice(known)}" if known and rng.random() < 0.95 else ""
    arguments: list[str] = []
    if schedule is None and (spec := pipeline(rng, text)):
        arguments += ["-p", spec]
    flags = (
        "--print-op-generic",
        "--no-aliases",
        "--print-debuginfo",
        "--allow-unregistered-dialect",
    )
    arguments += [flag for flag in flags if rng.random() < 0.1]
    arguments += [
        flag for flag in ("--split-input-file", "--verify-diagnostics") if rng.random() < 0.02
    ]
    sizes = [f"{axis}={rng.choice((1, 2, 2, 3, 0, -1, 5000))}" for axis in ("dp", "tp", "pp", "ep")]
    flags = ("--exact", "--seed=7", f"--mesh={rng.choice(sizes)}", "--shape=x=3x2", "--set=lr=0.5")
    simulated = tuple(flag for flag in flags if rng.random() < 0.2)
    run = simulated if rng.random() < 0.5 else None
    return Case(text, tuple(arguments), run, schedule, reference)


def run_case(case: Case, path: Path) -> tuple[str, float]:
    """Ask about a case: "accepted", "refused", or what is wrong; and the seconds that it took."""
    start = time.perf_counter()
    try:
        answer = ask(written(case, path))
        wrong = problem(answer)
        if wrong is None and answer.code == 0 and "--verify-diagnostics" not in case.arguments:
            path.write_text(answer.output)
            kept = [
                a
                for a in case.arguments
                if a in ("--allow-unregistered-dialect", "--split-input-file")
            ]
            again = ask([str(path), *kept])
            wrong = problem(again) or (
                f"its output is refused: {again.errors}" if again.code else None
            )
            if wrong is None and case.simulated is not None and is_small(answer.output):
                wrong = problem(ask([str(path), *case.simulated], simulate))
    except TooSlow:
        return f"more than {LIMIT} s", time.perf_counter() - start
    except Exception:
        return "exception: " + traceback.format_exc(limit=-2), time.perf_counter() - start
    return wrong or ("refused" if answer.code else "accepted"), time.perf_counter() - start


def written(case: Case, path: Path) -> list[str]:
    """Write the files of a case; the arguments of coconet-opt."""
    path.write_bytes(case.text.encode("utf-8", "surrogatepass"))
    if case.schedule is None:
        return [str(path), *case.arguments]
    schedule = path.with_name("s.mlir")
    schedule.write_bytes(case.schedule.encode("utf-8", "surrogatepass"))
    return [str(path), *case.arguments, "--schedule", f"{schedule}{case.reference}"]


def is_small(text: str) -> bool:
    """Whether a program has no large number where a size stands."""
    return not re.search(r"\d{3,}(x| : index)", text)


@contextlib.contextmanager
def guarded() -> Generator[Path]:
    """A file for the programs, with the limits on time and memory set."""

    def stop(number: int, frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "p.mlir"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; 1 if one fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1500, help="how many cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one case, which is shown")
    options = parser.parse_args(arguments)
    texts, pairs = sources(), scheduled()
    if options.only is not None:
        return show(make_case(options.seed, options.only, texts, pairs))
    counts: Counter[str] = Counter()
    worst, slowest, failures = 0.0, 0, 0
    start = time.perf_counter()
    with guarded() as path:
        for number in range(options.count):
            verdict, seconds = run_case(make_case(options.seed, number, texts, pairs), path)
            if seconds > worst:
                worst, slowest = seconds, number
            if verdict in ("accepted", "refused"):
                counts[verdict] += 1
            else:
                failures += 1
                print(f"--seed {options.seed} --only {number}: {verdict}", flush=True)
            if number % 500 == 499:
                gc.collect()
    print(
        f"{options.count} cases in {time.perf_counter() - start:.0f} s, of {len(texts)} programs:"
    )
    print(f"{counts['accepted']} accepted, {counts['refused']} refused, {failures} failed")
    print(f"the slowest, case {slowest}, took {worst:.2f} s")
    return 1 if failures else 0


def show(case: Case) -> int:
    """Run one case with all that it prints."""
    parts = (case.text, case.schedule or "", f"{case.arguments} {case.reference}")
    print(*parts, sep="\n-----\n")
    with guarded() as path:
        verdict, seconds = run_case(case, path)
        with contextlib.suppress(TooSlow):
            print("-----", ask(written(case, path)).errors, sep="\n")
    print(f"{verdict} in {seconds:.2f} s")
    return 0 if verdict in ("accepted", "refused") else 1


if __name__ == "__main__":
    sys.exit(main())
