"""The cluster's side: which sets belong to which pools, and how far pools and sets are."""
