"""In which setting each mutant is run, and what it may be found as."""

from __future__ import annotations

from protocols import Setting

WRAPPED = 0xFFFFFFFD
"""Numbers of calls that soon begin again at 0."""

SMALL = {
    "push": Setting(2, 2, 4, (5, 9, 3), WRAPPED),
    "two_shot": Setting(3, 2, 4, (13, 4, 13), WRAPPED),
    "one_shot": Setting(3, 1, 4, (5, 0, 5, 5), WRAPPED),
}
"""In the last one nobody has anything to send in the second call."""

OF_TWO_WARPS = ("barrier of a warp", "barrier without waiting")
"""Operators that show in a block of several warps, or count the threads of one."""

TWO_WARPS = {
    "push": Setting(2, 1, 64, (70, 70)),
    "two_shot": Setting(2, 1, 64, (200, 200)),
    "one_shot": Setting(2, 1, 64, (66, 66)),
}

CLEAN = {
    "two ranks": (0.4, Setting(2, 2, 4, (5, 9, 3), WRAPPED)),
    "three ranks": (0.3, Setting(3, 2, 4, (7, 0, 5, 9))),
    "four ranks": (0.28, Setting(4, 1, 5, (5, 1, 6), WRAPPED)),
    "two warps": (0.02, Setting(4, 2, 64, (140, 33, 65))),
}
"""Settings in which kernels are clean, each with its share of the schedules."""

SCHEDULES = 60

OTHER = {
    "another slot": ("out of bounds", "hang"),
    "delete signal": ("hang",),
    "no packet for nothing": ("hang",),
    "one half alone": ("hang",),
    "one too many": ("out of bounds", "data race", "hang"),
    "strong -> weak": ("data race", "hang"),
    "waits while it is there": ("hang",),
}
"""What is no race, or need not be one, by operators: a loop of weak loads need never see anything new."""

VALUES = ("never waits", "no wait", "number is not kept", "number of the call before")
"""What makes a kernel take packets of a call before: all of their accesses are strong, so values alone are wrong."""


def setting(protocol: str, operator: str) -> Setting:
    """In which setting a mutant is run."""
    return (TWO_WARPS if operator in OF_TWO_WARPS else SMALL)[protocol]


def kinds(protocol: str, operator: str) -> tuple[str, ...]:
    """What a mutant may be found as."""
    if operator in OTHER:
        return OTHER[operator]
    if operator in VALUES and protocol == "one_shot":
        return ("wrong value",)
    if (
        operator == "no wait"
    ):  # the credit of who did not wait may come before the message, and orders it behind the read
        return ("data race", "wrong value")
    return ("data race",)
