"""Nouns: frozen values that every other band speaks in.

Standard library only, valid or never built, compared and ordered by value.
A noun knows nothing of files, formats or policies.
"""
