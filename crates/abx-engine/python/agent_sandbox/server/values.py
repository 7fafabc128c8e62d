"""What commands return, as JSON."""

import base64
import collections.abc
import dataclasses
import datetime
import enum
import json
import os


def dumped(value):
    """JSON as bytes. Raises TypeError for what has no such form, with the type's name."""
    try:
        return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except ValueError as error:
        if "JSON compliant" in str(error):
            # JSON has no word for them; what reads them back takes null.
            return json.dumps(_finite(value), ensure_ascii=False).encode("utf-8", "replace")
        raise TypeError(str(error))


def _plain(value):
    """A value of another type as one that JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    for method in ("model_dump", "to_dict", "tolist"):  # pydantic, pandas, numpy
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    if isinstance(value, collections.abc.Iterable):
        return list(value)
    raise TypeError("a value of type %s cannot be returned" % type(value).__name__)


def _finite(value):
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value if value is None or isinstance(value, (str, int)) else _finite(_plain(value))
