"""Reads a table, sums it up and draws it."""

import io

import matplotlib.pyplot as plt
import pandas as pd

TABLE = """month,sales
1,12
2,15
3,11
4,19
"""

sales = pd.read_csv(io.StringIO(TABLE))
print(sales.describe())
sales.plot(x="month", y="sales", kind="bar")
plt.savefig("sales.png")
print("wrote sales.png")
