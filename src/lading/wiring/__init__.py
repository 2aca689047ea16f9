"""The composition root: the only room that constructs adapters and hands them to features."""
