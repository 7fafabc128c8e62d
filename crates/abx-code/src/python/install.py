

# Modules whose distribution has another name.
_DISTRIBUTIONS = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "IPython": "ipython",
    "Levenshtein": "python-Levenshtein",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "PyPDF2": "PyPDF2",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cairo": "pycairo",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "decouple": "python-decouple",
    "discord": "discord.py",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "github": "PyGithub",
    "google.auth": "google-auth",
    "google.cloud.bigquery": "google-cloud-bigquery",
    "google.cloud.storage": "google-cloud-storage",
    "google.genai": "google-genai",
    "google.generativeai": "google-generativeai",
    "google.protobuf": "protobuf",
    "googleapiclient": "google-api-python-client",
    "grpc": "grpcio",
    "igraph": "python-igraph",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "kafka": "kafka-python",
    "ldap3": "ldap3",
    "magic": "python-magic",
    "markdown": "Markdown",
    "mpl_toolkits": "matplotlib",
    "multipart": "python-multipart",
    "nacl": "PyNaCl",
    "nmap": "python-nmap",
    "osgeo": "GDAL",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pymupdf": "PyMuPDF",
    "pysolr": "pysolr",
    "rest_framework": "djangorestframework",
    "ruamel.yaml": "ruamel.yaml",
    "sentence_transformers": "sentence-transformers",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "socks": "PySocks",
    "speech_recognition": "SpeechRecognition",
    "tabula": "tabula-py",
    "telegram": "python-telegram-bot",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "win32com": "pywin32",
    "wx": "wxPython",
    "xlsxwriter": "XlsxWriter",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}

# Well-known ones whose distribution has the same name.
_SAME = set(
    "aiohttp altair anthropic astropy bokeh boto3 bottle celery chardet click cryptography cython dash dask django "
    "duckdb emoji faker fastapi flask folium fsspec geopandas gensim geopy gradio graphviz h5py httpx humanize jax "
    "jinja2 joblib jsonschema keras langchain lightgbm litellm lxml matplotlib mistune mpmath mypy nbformat netcdf4 "
    "networkx nltk numba numexpr numpy openai openpyxl orjson pandas paramiko patsy peewee pendulum pika plotly plotnine "
    "polars prettytable psutil psycopg pyarrow pydantic pydot pygame pygments pymongo pymysql pypdf pyproj pytest pytz "
    "qrcode redis regex reportlab requests rich scipy scrapy seaborn selenium shap shapely simplejson spacy sqlalchemy "
    "sqlmodel statsmodels streamlit sympy tabulate tensorflow termcolor textblob tiktoken tokenizers toml torch "
    "torchvision tornado tqdm transformers trio typer ujson unidecode uvicorn wordcloud xarray xgboost xlrd xmltodict "
    "yfinance zstandard".split()
)


class _Refused(Exception):
    """Why nothing is installed for a module."""


def _is_there(name):
    import importlib.util

    try:
        return importlib.util.find_spec(name) is not None
    except Exception:  # noqa: BLE001 - a parent that cannot be imported, say
        return False


def _known(module):
    """The distribution of a module that is well known, by its longest name."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in _DISTRIBUTIONS:
            return _DISTRIBUTIONS[name]
    return parts[0] if parts[0] in _SAME else None


def _distribution(module):
    """What to install, and whether it is sure to be that. Raises where the module is not to be had so."""
    top = module.partition(".")[0]
    known = _known(module)
    if top != module and _is_there(top):
        dotted = any(name != top and (module + ".").startswith(name + ".") for name in _DISTRIBUTIONS)
        if not (dotted and known):
            raise _Refused(f"`{top}` is there, and has no such part")
    if top in getattr(sys, "stdlib_module_names", ()):
        raise _Refused("it belongs to Python itself, and this one comes without it")
    if known:
        return known, True
    if top.startswith("_"):
        raise _Refused("it is private to something else")
    here = _local(top)
    if here:
        raise _Refused(f"it looks like your own {here}, whose folder is not in sys.path")
    meant = _misspelt(top)
    if meant:
        raise _Refused(f"did you mean `{meant}`?")
    return top.replace("_", "-"), False


def _local(top):
    """A file of that name nearby."""
    import glob

    for folder in (".", "*", "..", "../*"):
        for name in (f"{top}.py", f"{top}/__init__.py"):
            found = glob.glob(os.path.join(folder, name))
            if found:
                return os.path.normpath(found[0])
    return None


def _misspelt(top):
    """A known module that differs by one letter, or by two that changed places."""
    import pkgutil

    known = set(_DISTRIBUTIONS) | _SAME | set(getattr(sys, "stdlib_module_names", ()))
    known |= {info.name for info in pkgutil.iter_modules()}
    if len(top) < 4:
        return None
    return min((name for name in known if "." not in name and _near(top, name)), default=None)


def _near(one, other):
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, letter in enumerate(one) if letter != other[i]), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    return swapped or one[at + 1 :] == other[at + 1 :]


def _imports(code):
    """Modules that the cell imports without looking after their absence, in order."""
    import ast
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(_transformed(code)))
    except (SyntaxError, ValueError):
        return []
    names, rest = [], [tree]
    while rest:
        node = rest.pop(0)
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module)
        elif not isinstance(node, ast.Try):
            rest += list(ast.iter_child_nodes(node))
    return names


def _transformed(code):
    shell = _ipython()
    return shell.transform_cell(code) if shell else code


def _pip(*words):
    import subprocess

    env = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_ROOT_USER_ACTION="ignore")
    if sys.prefix == sys.base_prefix:
        env.setdefault("PIP_BREAK_SYSTEM_PACKAGES", "1")
    command = [sys.executable, "-m", "pip", *words]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["pip failed"]
    if any("No matching distribution" in line for line in lines):
        raise _Refused("there is no such distribution")
    errors = [line[len("ERROR:") :].strip() for line in lines if line.startswith("ERROR:")]
    raise _Refused((errors or lines)[-1])


def _pip_install(distributions):
    """Installs them; one that is but a guess is looked into before, so that nothing of a stranger runs."""
    import glob
    import tempfile

    sure = [name for name, _, is_sure in distributions if is_sure]
    with tempfile.TemporaryDirectory() as folder:
        for name, module, is_sure in distributions:
            if not is_sure:
                _pip("download", "-q", "--no-deps", "--only-binary=:all:", "-d", folder, name)
                if not _provides(glob.glob(os.path.join(folder, "*.whl")), module.partition(".")[0]):
                    raise _Refused(f"the distribution `{name}` has no such module")
        _pip("install", "-q", *sure, *glob.glob(os.path.join(folder, "*.whl")))
    _see_new()


def _provides(wheels, top):
    import zipfile

    names = [name for wheel in wheels for name in zipfile.ZipFile(wheel).namelist()]
    parts = [name.split("/") for name in names]
    parts = [part[2:] if part[0].endswith(".data") and part[1:2] in (["purelib"], ["platlib"]) else part for part in parts]
    return any(part and (part[0] == top or part[0].startswith(top + ".")) for part in parts)


def _see_new():
    """What was installed a moment ago can be imported."""
    import importlib
    import site

    importlib.invalidate_caches()
    own = site.getusersitepackages()
    if site.ENABLE_USER_SITE and os.path.isdir(own) and own not in sys.path:
        site.addsitedir(own)


def _install(module, code):
    """Has the module, and whatever else well known the cell lacks, installed, and tells what came of it."""
    news = {"module": module, "distributions": [], "installed": False, "reason": ""}
    try:
        name, is_sure = _distribution(module)
        wanted = [(name, module, is_sure)]
        for other in _imports(code):
            if other and _known(other) and not _is_there(other.partition(".")[0]):
                wanted.append((_known(other), other, True))
        wanted = list({name: (name, other, sure) for name, other, sure in reversed(wanted)}.values())[::-1]
        news["distributions"] = [name for name, _, _ in wanted]
        _pip_install(wanted)
        if not _is_there(module):
            raise _Refused(f"`{name}` has no such module")
        news["installed"] = True
    except _Refused as refused:
        news["reason"] = str(refused)
    except Exception as error:  # noqa: BLE001 - the cell's own error is what matters
        news["reason"] = f"{type(error).__name__}: {error}"
    _show({"application/vnd.abx.install+json": news})
