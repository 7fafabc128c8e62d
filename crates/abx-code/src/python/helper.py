"""Given to every Python before its first cell, as the module `_abx`: variables of one cell, missing modules, and the
forms that values have. Nothing of it shows among the names of the cells. `show` is given where there is no IPython.
`install.py` and `forms.py` follow in the same namespace."""

import os
import sys
import types

_me = types.ModuleType("_abx")
_me.saved = {}


def _push_env(variables):
    _me.saved = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)


def _pop_env():
    for name, value in _me.saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _me.saved = {}


def _ipython():
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


def _show(forms):
    if _ipython():
        from IPython.display import publish_display_data

        publish_display_data(forms)
    else:
        show(forms)  # noqa: F821 - given
