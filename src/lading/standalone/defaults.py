"""Sizes that `lading up --help` shows; a module of its own, because the node loads its servers."""

NODE_CAPACITY_BYTES = 10 * 1024**3
