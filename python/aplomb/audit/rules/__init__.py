"""The rules, by what they are about; roster.py names their modules. A rule asks the program, never another subject's rules.

A rule is a function under `@rule("code.<name>")` that yields Findings; its texts and its programs stand in knowledge/code.
"""
