"""Server-side apply and managedFields."""
