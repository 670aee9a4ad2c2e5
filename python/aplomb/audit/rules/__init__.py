"""The rules, by what they are about; roster.py names their modules. A rule asks the program, never another subject's rules.

A rule is a function that `@rule` (findings.py) enters under its name; its texts and its programs stand in knowledge/code.
"""
