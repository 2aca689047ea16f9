"""Carries a plan out, and checks the registry while it does."""
