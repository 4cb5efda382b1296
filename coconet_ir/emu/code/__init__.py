"""From PTX to this machine's code: one function a kernel, one coroutine a device thread."""
