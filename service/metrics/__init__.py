"""Metrics: counted in every process, added up in a folder of the machine, shown by `/metrics`.

``catalogue.py`` lists every metric. ``meters.py`` counts, in memory that ``seats.py`` maps to
files, so that nothing is lost when a process ends. ``gathering.py`` adds up the files of all
processes, and ``exposition.py`` writes what Prometheus reads.
"""
