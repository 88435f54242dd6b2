"""The console: pages for people, at ``/console``.

``static`` holds them as they are sent, without a build step: one style sheet, ``main.js``, a module
for each page in ``pages``, and what several pages need in ``shared``. They use the public API
alone. ``serving.py`` puts them on the wire.
"""
