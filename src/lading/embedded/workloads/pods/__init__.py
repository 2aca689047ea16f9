"""Runs the pods that are bound to one node."""
