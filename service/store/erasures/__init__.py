"""What is left of a deleted user in the store, and its removal.

``records`` says which erasures are due and how far each is, ``traces`` finds and removes what the
deletion itself leaves, ``rewriting`` lets the private server write its file anew.
"""
