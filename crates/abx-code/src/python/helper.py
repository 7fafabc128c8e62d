import sys, types
_abx = types.ModuleType("_abx")
sys.modules["_abx"] = _abx
import os
def push_env(variables):
    _abx.saved = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
def pop_env():
    for name, value in _abx.saved.items():
        if value is None: os.environ.pop(name, None)
        else: os.environ[name] = value
_abx.push_env = push_env; _abx.pop_env = pop_env
