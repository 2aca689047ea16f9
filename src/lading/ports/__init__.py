"""What the features need from the world, as protocols of a few methods, and their errors.

Adapters implement them; `wiring` is the only place that constructs adapters.
"""
