"""The composition root: the only package that constructs adapters and servers."""
