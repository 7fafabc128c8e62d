"""What each endpoint does, a group or less a file. Loaded when first asked for."""
