"""The model of a program: what its names hold, what its losses compute, and what it does in which order.

Right builds on left:

    syntax, tree     source -> names -> values -> makers -> objects -> losses -> algebra, shapes, timeline
    constants, configuration, launches (for values)

Program (program.py) puts them together. On it stand questions that rules of several subjects ask (gradients, layout, order,
data, formats, trainers), and project.py, which makes one program of several files.
"""
