"""The steps of learning, one module each: the work, and what it finds as plain data.

The catalogue names them, in the order in which they are done.
"""
