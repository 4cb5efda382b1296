"""Line information: which line of MLIR an instruction of LLVM IR comes from, so that PTX has `.loc` directives.

`DebugDirectivesOnly` makes LLVM write `.file` and `.loc` and no debug sections: optimised code stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from coconet_ir.diagnostics import Position, position
from coconet_ir.lowering.emit.types import quoted


class Metadata:
    """The numbered nodes of a module, equal ones once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def node(self, text: str) -> str:
        """The name of the node with this text: `!7`."""
        return f"!{self._numbers.setdefault(text, len(self._numbers))}"

    def lines(self) -> Iterator[str]:
        """The definitions of all nodes."""
        for text, number in self._numbers.items():
            yield f"!{number} = {text}"


class DebugInfo:
    """The line information of a module; what stands in no file has none."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._unit: str | None = None
        self._scope: str | None = None
        self._file: str = ""

    def enter(self, function: Operation, name: str) -> str:
        """Begin a function; its ` !dbg !N`, or nothing."""
        at = position(function)
        if at is None:
            self._scope = None
            return ""
        node = self._metadata.node
        self._file = at.file
        if self._unit is None:
            self._unit = node(
                f"distinct !DICompileUnit(language: DW_LANG_C, file: {self._file_node(at)}, "
                'producer: "coconet-ir", isOptimized: true, runtimeVersion: 0, '
                "emissionKind: DebugDirectivesOnly)"
            )
        type = node(f"!DISubroutineType(types: {node('!{}')})")
        self._scope = node(
            f"distinct !DISubprogram(name: {quoted(name)}, file: {self._file_node(at)}, line: {at.line}, "
            f"scopeLine: {at.line}, type: {type}, spFlags: DISPFlagDefinition | DISPFlagOptimized, "
            f"unit: {self._unit})"
        )
        return f" !dbg {self._scope}"

    def at(self, op: Operation) -> str:
        """The `, !dbg !N` of an instruction of the current function, or nothing."""
        if self._scope is None or (at := position(op)) is None:
            return ""
        scope = self._scope
        if at.file != self._file:
            scope = self._metadata.node(
                f"!DILexicalBlockFile(scope: {scope}, file: {self._file_node(at)}, "
                "discriminator: 0)"
            )
        column = at.column if at.column < 1 << 16 else 0  # LLVM has 16 bits for it
        node = self._metadata.node(
            f"!DILocation(line: {at.line}, column: {column}, scope: {scope})"
        )
        return f", !dbg {node}"

    def _file_node(self, at: Position) -> str:
        # PTX has no escapes in the name of a file.
        name = at.file.replace('"', "'").replace("\\", "/")
        return self._metadata.node(f'!DIFile(filename: {quoted(name)}, directory: "")')

    def lines(self) -> Iterator[str]:
        """What makes LLVM read the nodes as line information."""
        if self._unit is not None:
            flags = self._metadata.node('!{i32 2, !"Debug Info Version", i32 3}')
            yield f"!llvm.dbg.cu = !{{{self._unit}}}"
            yield f"!llvm.module.flags = !{{{flags}}}"
