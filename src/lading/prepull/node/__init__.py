"""The part of a node: whether the images that its pods hold are still there."""
