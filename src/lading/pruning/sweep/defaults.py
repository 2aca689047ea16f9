"""Names that `lading prune blobs --help` shows; a module of its own, because others load numpy."""

PROBE_REPOSITORY = "lading/probe"
