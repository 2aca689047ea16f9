"""Container runtimes over CRI: the client, and one pin driver for each kind of runtime.

gRPC costs a tenth of a second to import, so it is imported by the modules here, never by this one.
"""
