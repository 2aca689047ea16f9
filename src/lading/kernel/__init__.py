"""Pure words that every room shares. Nothing here does I/O, reads a clock or logs."""
