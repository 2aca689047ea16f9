"""Runs the pods of Jobs to their end."""
