"""Keeps one pod of a DaemonSet on each node where it may run."""
