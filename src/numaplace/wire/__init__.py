"""Bytes: between the nouns of `model` and the text others read or write.

Versioned and strict: a document we do not understand is refused by naming the
field, never guessed. No transport lives here, so every codec runs on a string.
"""
