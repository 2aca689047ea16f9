"""Binds pods to nodes."""
