

# Values of more cells than this have no form `e2b/data`: nobody reads so many, and messages have their limit.
_MOST_CELLS = 1_000_000


def _table(frame):
    """A table's columns by name, as JSON can hold them."""
    if frame.size > _MOST_CELLS:
        return None
    return {str(name): [_plain(value) for value in frame.iloc[:, at].tolist()] for at, name in enumerate(frame.columns)}


def _plain(value):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    return str(value)


def _chart(figure):
    """What a figure shows, where the package that can tell is installed."""
    try:
        from e2b_charts import chart_figure_to_dict

        return chart_figure_to_dict(figure)
    except Exception:  # noqa: BLE001 - a picture without data is still a picture
        return None


def _prepare_ipython(shell):
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class Data(BaseFormatter):
        format_type = Unicode("e2b/data")
        print_method = ObjectName("_repr_e2b_data_")
        _return_type = dict

    class Chart(BaseFormatter):
        format_type = Unicode("e2b/chart")
        print_method = ObjectName("_repr_e2b_chart_")
        _return_type = dict

    data, chart = Data(parent=shell.display_formatter), Chart(parent=shell.display_formatter)
    shell.display_formatter.formatters.update({"e2b/data": data, "e2b/chart": chart})
    for module in ("pandas", "pandas.core.frame"):
        data.for_type_by_name(module, "DataFrame", _table)
    # A method, because choosing the form of pictures drops every function that is registered for figures.
    _when_imported("matplotlib.figure", lambda module: setattr(module.Figure, "_repr_e2b_chart_", _chart))
    _when_imported("PIL.Image", _prepare_pillow)


def _when_imported(name, prepare):
    """Calls `prepare` with the module once it has been imported."""
    import importlib.abc
    import importlib.util

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, wanted, path, target=None):
            if wanted != name:
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(wanted)
            if spec and spec.loader:
                execute = spec.loader.exec_module

                def exec_module(module):
                    execute(module)
                    prepare(module)

                spec.loader.exec_module = exec_module
            return spec

    if name in sys.modules:
        prepare(sys.modules[name])
    else:
        sys.meta_path.insert(0, Finder())


def _prepare_pillow(module):
    """Pictures that are shown or saved are displayed."""
    from IPython.display import display

    save = module.Image.save

    def show(self, *_, **__):
        display(self)

    def save_and_display(self, target, *words, **options):
        save(self, target, *words, **options)
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(target, (str, os.PathLike)) and not caller.startswith(("matplotlib", "PIL")):
            display(self)

    module.Image.show, module.Image.save = show, save_and_display


_me.push_env, _me.pop_env, _me.install = _push_env, _pop_env, _install
sys.modules["_abx"] = _me
if _ipython():
    try:
        _prepare_ipython(_ipython())
    except Exception as error:  # noqa: BLE001 - an IPython of another time runs cells all the same
        print(f"abx: values have fewer forms: {error}", file=sys.stderr)
