"""Printing of syntax trees as ``.proto`` text: canonical and normalised."""
