"""What happens when the store has lost something that a process knew of.

``watch`` notices it in an api process, ``wholeness`` says whether what is left fits together,
``healing`` begins a new era, in which every process reads again.
"""
