"""Files that people bring and take: opening, reading, writing; every error names the file and the place."""
