"""Pure types that every package shares. Nothing here does I/O, reads a clock or logs."""
