"""Memory over HTTP."""
