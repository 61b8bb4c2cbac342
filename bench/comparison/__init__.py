"""Compares what Notekeeper keeps of conversations and facts with a Python library's memory, case by case."""
