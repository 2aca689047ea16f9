"""Decides what to keep and what to delete, and why: rules, policy, plan. Pure."""
