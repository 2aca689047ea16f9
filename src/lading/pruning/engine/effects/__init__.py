"""Executes a plan, and checks the registry while it does."""
