"""The compiled code of tagging."""
