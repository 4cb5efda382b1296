"""Settings of the lit tests; `make filecheck` runs them."""

import shutil
import sys
from pathlib import Path

from lit.formats import ShTest

config = globals()["config"]  # lit puts it here

root = Path(__file__).resolve().parents[2]

config.name = "coconet-ir"
config.test_format = ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(root / "test" / "filecheck")
config.test_exec_root = str(root / "build" / "filecheck")
config.environment["PATH"] = f"{Path(sys.executable).parent}:{config.environment['PATH']}"
config.maxIndividualTestTime = 60  # seconds

# What was printed is parsed and printed again, and that is what FileCheck reads: from our own
# notation, from MLIR's generic form, and from what upstream's mlir-opt makes of the latter.
parts = "--split-input-file"
second = f"coconet-opt {parts} --no-aliases | filecheck %s"
generic = f"coconet-opt {parts} --print-op-generic %s"
config.substitutions += [
    ("%examples", str(root / "examples")),
    ("GENERIC_ROUNDTRIP", f"{generic} | {second}"),
]
if (mlir_opt := shutil.which("mlir-opt-22")) is not None:  # the continuous integration installs it
    config.available_features.add("mlir-opt")
    upstream = f"{mlir_opt} {parts} --allow-unregistered-dialect"
    config.substitutions.append(("UPSTREAM_ROUNDTRIP", f"{generic} | {upstream} | {second}"))
config.substitutions.append(("ROUNDTRIP", f"coconet-opt {parts} %s | {second}"))
