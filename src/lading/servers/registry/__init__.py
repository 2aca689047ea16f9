"""An OCI distribution 1.1 registry on the filesystem layout of the distribution project.

`server.serve` runs it; `layout` says where everything is. It does not collect garbage, replicate
or proxy: content that nothing links any more stays on the disk until a collector removes it.
"""
