"""Compiled code of disambiguation."""
