"""Routes that write what users did, and show it."""
