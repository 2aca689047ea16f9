"""The `Storage` port on obstore: files, S3, Google Cloud Storage, Azure; only for the pruner."""
