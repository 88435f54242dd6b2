"""Models that learn from one rating at a time: families of experts, their aggregators, intervals.

Start at ``model.py``; the formulas stand in the kernels of the same name.
"""
