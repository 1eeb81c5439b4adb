"""The compiled code of dependency parsing."""
