"""Fits a line and says how well it fits."""

import numpy as np
from sklearn.linear_model import LinearRegression

random = np.random.default_rng(1)
x = random.uniform(0, 10, size=(100, 1))
y = 3 * x[:, 0] + 2 + random.normal(size=100)
model = LinearRegression().fit(x, y)
print(f"y = {model.coef_[0]:.2f} x + {model.intercept_:.2f}, R2 = {model.score(x, y):.3f}")
