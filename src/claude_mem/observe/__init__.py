"""From events to memory: when a batch goes out, what is asked about it, and what is read in the answer.

policy says when; prompt builds the question (mode, call, shell, changes, render, fit); grammar reads the
reply (tags, field); evidence corrects it by what the tools themselves show (paths, redirects); budget says
whether another call may be made. All of these are pure.
"""
