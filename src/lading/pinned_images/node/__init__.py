"""One node: preloads the images of its sets, pins them, and reports its progress."""
