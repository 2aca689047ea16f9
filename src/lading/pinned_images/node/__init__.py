"""One node: preloads the images of its sets, pins them, and says how far it is."""
