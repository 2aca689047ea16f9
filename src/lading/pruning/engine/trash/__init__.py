"""The trash: images are copied there before they are deleted."""
