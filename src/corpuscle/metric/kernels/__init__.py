"""Compiled code of metrics."""
