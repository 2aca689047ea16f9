"""The story that `lading demo` tells, on the embedded parts and with the real controllers."""
