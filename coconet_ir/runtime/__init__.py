"""Executes lowered programs on devices. Nothing here imports CUDA before a device is asked for."""
