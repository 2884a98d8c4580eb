"""Scoring a file of groups: lines in, one result line out for each, resumable at any point.

lines.py     a line of the input → a group, or a reason why not
endpoint.py  groups → results, by a scorer in this process or by a service at a URL
batches.py   lines → batches → results, each as it finishes, with retries
results.py   the output file: appended line by line, so that a kill loses at most the line being written
summary.py   what came out, counted
"""
