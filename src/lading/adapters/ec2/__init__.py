"""Amazon EC2 and STS over HTTPS requests, without an SDK: three questions need no more."""
