"""How a job runs: streams, launches, blocks, threads."""
