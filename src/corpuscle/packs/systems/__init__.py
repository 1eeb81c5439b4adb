"""The steps of learning, a module for each kind of model: the work, and what it finds as plain data.

The catalogue names them, in the order in which they are done.
"""
