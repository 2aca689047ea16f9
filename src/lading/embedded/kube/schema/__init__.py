"""Structural schemas: pruning, defaults, validation, CEL rules, and checks of CRDs."""
