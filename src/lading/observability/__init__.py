"""Logs, metrics and health endpoints of every long-running command."""
