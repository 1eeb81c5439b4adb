"""Containers that kernels share: ``hashtable`` (numbered items found by 64-bit keys), ``heap`` (the best first)."""
