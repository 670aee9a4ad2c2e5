"""The rules, by what they are about; roster.py names their modules."""
