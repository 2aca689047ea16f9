"""An OCI distribution 1.1 registry on the filesystem layout of the distribution project.

`server.serve` runs it; `layout` has the paths. It does not collect garbage, replicate or proxy:
content without a link stays on the disk until a collector removes it.
"""
