"""Amazon EC2 over signed HTTPS requests, without an SDK: two questions need no more."""
