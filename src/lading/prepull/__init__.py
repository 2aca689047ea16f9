"""Holds images on every worker node, with a DaemonSet that has a container for each of them."""
