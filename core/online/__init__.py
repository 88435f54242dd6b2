"""Models that learn from one rating at a time: groups of experts, aggregators, intervals.

Start at ``model.py``. The formulas are in the docstrings of the kernels of the same names.
"""
