"""Draws a chart in a cell: the picture and what it shows come back as data.

    abx code ID -f examples/chart.py
"""

import matplotlib.pyplot as plt

months = ["Jan", "Feb", "Mar", "Apr"]
plt.bar(months, [12, 15, 11, 19])
plt.title("Sales")
plt.ylabel("units")
plt.show()
