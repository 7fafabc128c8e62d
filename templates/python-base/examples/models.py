"""Validates records with pydantic and prints them as a table.

    abx upload ID examples/models.py models.py && abx exec ID -- python /home/user/models.py
"""

from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.table import Table


class Reading(BaseModel):
    sensor: str
    celsius: float


RECORDS = [
    {"sensor": "roof", "celsius": "21.5"},
    {"sensor": "cellar", "celsius": 12},
    {"sensor": "attic", "celsius": "warm"},
]


def main() -> None:
    table = Table("sensor", "°C")
    rejected = 0
    for record in RECORDS:
        try:
            reading = Reading.model_validate(record)
        except ValidationError:
            rejected += 1
            continue
        table.add_row(reading.sensor, f"{reading.celsius:.1f}")
    console = Console()
    console.print(table)
    console.print(f"{rejected} rejected")


if __name__ == "__main__":
    main()
