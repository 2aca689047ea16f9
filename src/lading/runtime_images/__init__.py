"""Images by (image, runtime handler): ensure one, list them, remove one, collect the unused."""
