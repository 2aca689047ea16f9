"""Makes and compares PinnedImageSets, for `lading pin create` and `lading pin diff`."""
