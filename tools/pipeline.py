"""Pass pipelines as the command line spells them: `pass{option=value flag=true},pass2`."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, ParseError
from xdsl.utils.hints import isa

from coconet_ir.diagnostics import IRError
from coconet_ir.lowering.lower import stages
from coconet_ir.schedule import MAX_NUMBER

Passes: TypeAlias = Mapping[str, Callable[[], type[ModulePass]]]
"""Pass names, and functions that import the pass."""

UPSTREAM_PASSES = ("canonicalize", "cse", "dce")
"""The passes of xDSL that make sense on programs of this project."""


_SPACE = re.compile(r'("[^"]*")|(?<=,)\s+|\A\s+|\s+\Z')
"""White space at the ends and after a comma, for pipelines over several lines; group 1 is a string."""

_NEXT_OPTION = re.compile(r"\{[^{}]*(,)\s*[\w-]+\Z")
"""An option that a comma sets off from the one before it, up to its `=`."""

_VALUE = re.compile(r'(?<![\w-])([\w-]+)=([^\s{}"=]*)')
"""An option and its value without quotes."""

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_OPTIONS = re.compile(r"([\w-]+)\{([^{}]*)\}")
"""A pass and its options, once strings are taken out."""

_HINTS = {
    "%": "names are written without %",
    ";": "commas separate passes, and spaces options",
    '"': "the string does not end on its line",
}


def available_passes() -> Passes:
    """The project's passes and `UPSTREAM_PASSES`."""
    from xdsl.transforms import get_all_passes as get_upstream_passes

    from coconet_ir.lowering import get_all_passes as get_lowering_passes
    from coconet_ir.passes import get_all_passes

    upstream = get_upstream_passes()
    ours = get_all_passes() | get_lowering_passes()
    return {name: upstream[name] for name in UPSTREAM_PASSES} | ours


def parse_passes(spec: str, available: Passes) -> tuple[ModulePass, ...]:
    """The passes that `spec` names, with their options; for a pass that stands for others, these.

    Raises `IRError`, with what exists, for what is no pipeline, an unknown pass or option, a missing
    option, and a value of the wrong type.
    """
    try:
        specs = list(parse_pipeline(_SPACE.sub(r"\1", spec)))
    except ArgSpecParseError as error:
        raise IRError(f"pipeline '{spec}': {_syntax_error(spec, str(error))}") from None
    except ParseError as error:
        raise IRError(f"pipeline '{spec}': {error.msg}") from None
    except ValueError as error:  # a number that Python refuses to convert
        raise IRError(f"pipeline '{spec[:80]}': {error}") from None
    _check_options_once(spec)
    passes = [_make_pass(one, available) for one in specs]
    return tuple(stage for one in passes for stage in stages(one))


def _check_options_once(spec: str) -> None:
    """Raise `IRError` for an option that a pass is given twice: the parser would take the last."""
    for name, options in _OPTIONS.findall(_STRING.sub("text", spec)):
        names = [_dashed(re.split("[=,]", option)[0]) for option in options.split()]
        for index, option in enumerate(names):
            if option in names[:index]:
                raise IRError(f"option '{option}' of pass '{name}' is given twice")


def _syntax_error(spec: str, report: str) -> str:
    """What is wrong and where, from the parser's report on `spec` without the white space of `_SPACE`."""
    _, location, _, _, reason, *_ = report.split("\n")
    line, column = map(int, location.split(":")[1:])
    lines = _SPACE.sub(r"\1", spec).split("\n")
    place = sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
    for space in _SPACE.finditer(spec):
        if space[1] is None and space.start() <= place:
            place += len(space[0])
    hint = reason.strip()
    hint = hint[:1].lower() + hint[1:]
    if place >= len(spec):
        return f"unexpected end: {hint}"
    if spec[place] == "=" and (comma := _NEXT_OPTION.search(spec, 0, place)) is not None:
        place, hint = comma.start(1), "options are separated by spaces"
    elif spec[place] not in _HINTS and (wrong := _value_problem(spec, place)) is not None:
        place, hint = wrong
    before, character = spec[:place], spec[place]
    row, column = before.count("\n") + 1, place - before.rfind("\n")
    where = f"line {row}, column {column}" if "\n" in spec else f"column {column}"
    return f"unexpected '{character}' at {where}: {_HINTS.get(character, hint)}"


def _value_problem(spec: str, place: int) -> tuple[int, str] | None:
    """What is wrong with the value of an option at this place, and where it begins; None if that is not it."""
    value = next((m for m in _VALUE.finditer(spec) if m.start(2) <= place <= m.end(2)), None)
    if value is None:
        return None
    name, text = value.groups()
    if not text:
        return place, f"option '{name}' has no value"
    if place == value.end(2) or spec[place] == ",":
        return place, f"option '{name}' lacks a value between or behind commas"
    return place, f'quote the value: {name}="{text}"'


def _make_pass(spec: ArgSpec, available: Passes) -> ModulePass:
    if spec.name not in available:
        raise IRError(f"unknown pass '{spec.name}'{_choices(spec.name, available, 'the passes')}")
    pass_type = available[spec.name]()
    hints = _option_types(pass_type)
    given = spec.normalize_parameter_names().parameters
    for name, value in given.items():
        if name not in hints:
            what = f"pass '{spec.name}' has no option '{_dashed(name)}'"
            raise IRError(what + _choices(name, [_dashed(n) for n in hints], "its options"))
        if any(isinstance(v, int) and abs(v) > MAX_NUMBER for v in value):
            option = f"option '{_dashed(name)}' of pass '{spec.name}'"
            raise IRError(f"{option} is out of range: {_shown(value)[:40]}")
        if not _fits(value, hints[name]):
            raise IRError(_misfit(spec.name, name, value, hints[name]))
    for name in sorted(pass_type.required_fields() - given.keys()):
        raise IRError(
            f"pass '{spec.name}' needs option '{_dashed(name)}' ({describe(hints[name])})"
        )
    try:
        return pass_type.from_spec(spec)
    except ValueError as error:  # the pass checks its options itself
        raise IRError(f"pass '{spec.name}': {error}") from None


def _misfit(pass_name: str, name: str, value: ParameterListType, hint: Any) -> str:
    """What is said of a value that an option does not take."""
    option, shown = f"option '{_dashed(name)}' of pass '{pass_name}'", _shown(value)
    if len(value) > 1 and any(_fits((one,), hint) for one in value):
        return f"{option} takes one value ({describe(hint)}), not several: {shown}"
    quotes = len(value) == 1 and _fits((shown,), hint)
    fix = f' (quote it: {_dashed(name)}="{shown}")' if quotes else ""
    return f"{option} takes {describe(hint)}, not {shown}{fix}"


def _option_types(pass_type: type[ModulePass]) -> dict[str, Any]:
    hints = get_type_hints(pass_type)
    return {f.name: hints[f.name] for f in dataclasses.fields(pass_type) if f.init}


def _fits(value: ParameterListType, hint: Any) -> bool:
    if not value:
        return NoneType in get_args(hint)
    return (len(value) == 1 and isa(value[0], hint)) or isa(value, hint)


def _shown(value: ParameterListType) -> str:
    if not value:
        return "an empty value (write option=value; a flag is option=true)"
    return ",".join(str(v).lower() if isinstance(v, bool) else str(v) for v in value)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _choices(name: str, known: Sequence[str] | Passes, what: str) -> str:
    close = [one for one in known if one == f"coconet-{_dashed(name)}"]
    close = close or get_close_matches(_dashed(name), list(known), n=1)
    guess = f"; did you mean '{close[0]}'?" if close else ""
    listed = ", ".join(sorted(known)) or "none"
    return f"{guess} ({what}: {listed})"


def describe(hint: Any) -> str:
    """An option's type as the command line has it: `int`, `a|b`, `str,...`."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(describe(arg) for arg in args if arg is not NoneType)
    if origin is Literal:
        return "|".join(map(str, args))
    if origin is tuple:
        return f"{describe(args[0])},..."
    return {bool: "true|false", str: "text"}.get(hint, getattr(hint, "__name__", str(hint)))


def list_passes(available: Passes) -> str:
    """Every pass with the first paragraph of its documentation, and its options.

    The help of an option is the `help` entry of its dataclass field's metadata.
    """
    lines: list[str] = []
    for name in sorted(available):
        pass_type = available[name]()
        lines.append(name)
        doc = (pass_type.__doc__ or "").strip()
        if doc and not doc.startswith(f"{pass_type.__name__}("):  # else made by dataclass
            lines += [f"    {line}" for line in inspect.cleandoc(doc).split("\n\n")[0].splitlines()]
        required = pass_type.required_fields()
        for option, hint in _option_types(pass_type).items():
            field = pass_type.__dataclass_fields__[option]
            default = "" if field.default in (None, ()) else f" = {field.default}".lower()
            note = " (required)" if option in required else default
            help = f"  {field.metadata['help']}" if "help" in field.metadata else ""
            lines.append(f"      {_dashed(option)}: {describe(hint)}{note}{help}")
    return "\n".join(lines) + "\n"
