"""One message, taken apart for the terminal."""
