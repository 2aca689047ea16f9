"""Structural schemas: prune, default, validate, CEL rules, and whether a CRD is acceptable."""
