"""What `hedgerow demo` streams and shows."""
