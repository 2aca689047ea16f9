"""Messages of the gRPC services that we speak: the calls and fields we use, no others.

Field names and numbers are those of CRI v1 and of containerd's images service, so they are
compatible on the wire. The Python modules are generated: `python -m lading.wire.generate`.
"""

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
"""What kubelet, containerd and CRI-O use; gRPC's own default of 4 MiB is too small for lists."""
