"""A policy as it is written: checked word by word, with its preset; no server is needed for that.

    {"preset": "hardened", "auth": {"tokens": [{"id": "ci", "scopes": ["commands:*"], "token_env": "CI_TOKEN"}]},
     "groups": {"terminal": false}, "endpoints": {"files_*": {"paths": {"allow": ["/app/out"], "read_only": true}}}}
"""

import copy
import difflib
import hashlib
import json
import os
import re

from .endpoints import ENDPOINTS, GROUPS, TRANSFER, endpoints_of

FILE = "/etc/agent-sandbox/server-policy.json"

_WRITING = ("files_mkdir", "files_delete", "files_move", "files_upload_stream")
_SECRET_PATHS = ["/proc", "/sys", "/dev", "**/.ssh", "**/.env", "**/.env.*", "**/*.pem", "**/id_rsa*",
                 "**/id_ed25519*"]
_NO_PROGRAMS = {"process": False, "terminal": False, "dev_tools": False, "browser": False}


def _only(names):
    rules = {"*": {"enabled": False}}
    rules.update({name: {"enabled": True} for name in names})
    return {"endpoints": rules}


PRESETS = {
    "default": {},
    "transfer-only": _only(TRANSFER),
    "read-only": {
        "groups": _NO_PROGRAMS,
        "endpoints": {name: {"enabled": False} for name in _WRITING + ("env_set",)},
    },
    "hardened": {
        "groups": _NO_PROGRAMS,
        "endpoints": {
            "env_set": {"enabled": False},
            "files_*": {"paths": {"deny": _SECRET_PATHS, "symlinks": "within"}},
        },
        "defaults": {"audit": "deny"},
    },
    "locked": _only(("list_commands", "run_command")),
}

_SIZES = {"": 1, "b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SCOPE = re.compile(r"\*|[a-z][a-z0-9_]*(:(\*|[a-z][a-z0-9_.:-]*))?")


class PolicyConfigError(ValueError):
    """The policy is wrong; the server does not start."""


def _wrong(where, what):
    raise PolicyConfigError("%s: %s" % (where, what))


def size(value, where="size"):
    """Bytes: a number, or one with KB, MB, GB (thousands) or KiB, MiB, GiB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(value)) if not isinstance(value, bool) else None
    unit = _SIZES.get(match.group(2).lower()) if match else None
    if unit is None or float(match.group(1)) * unit < 1:
        _wrong(where, "%r is no size, such as 5MB" % (value,))
    return int(float(match.group(1)) * unit)


def _is(kind, what, test=lambda value: True):
    def check(value, where):
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool) or not test(value):
            _wrong(where, "%r is not %s" % (value, what))
        return value
    return check


_flag = _is(bool, "true or false")
_count = _is(int, "a positive whole number", lambda value: value > 0)
_number = _is((int, float), "a positive number", lambda value: value > 0)
_text = _is(str, "a string", bool)
_texts = _is(list, "a list of strings", lambda value: all(isinstance(each, str) for each in value))
_numbers = _is(list, "a list of whole numbers", lambda value: all(type(each) is int for each in value))
_scopes = _is(list, "a list of scopes such as `files:read`",
              lambda value: all(isinstance(each, str) and _SCOPE.fullmatch(each) for each in value))
_roots = _is(list, "a list of absolute directories",
             lambda value: all(isinstance(each, str) and os.path.isabs(each) and "\0" not in each for each in value))


def _one_of(*words):
    return _is(str, "one of " + ", ".join(words), lambda value: value in words)


def _keys(table):
    def check(value, where):
        if not isinstance(value, dict):
            _wrong(where, "%r is not an object" % (value,))
        for key in value:
            if key not in table:
                _wrong("%s.%s" % (where, key), "unknown key%s" % _near(key, table))
        return {key: table[key](each, "%s.%s" % (where, key)) for key, each in value.items()}
    return check


def _near(word, words):
    near = difflib.get_close_matches(str(word), list(words), n=1)
    return ", did you mean %r?" % near[0] if near else "; there are " + ", ".join(sorted(words))


_LIMITS = dict(
    {key: size for key in ("max_request_bytes", "max_bytes", "max_output_bytes")},
    **{key: _count for key in ("rate_per_minute", "max_concurrency", "max_entries", "max_depth", "max_results",
                               "max_files", "max_processes", "max_sessions")},
    **{key: _number for key in ("timeout_seconds", "max_duration_seconds")}
)
_PARAMS = dict(
    {key: _texts for key in ("allow_extensions", "deny_extensions", "allow_commands", "deny_commands", "shells",
                             "env_deny", "allow_vars", "deny_vars", "languages", "url_allow", "url_deny")},
    overwrite=_flag, block_private_networks=_flag, allowed_signals=_numbers
)
#: Of these a later layer adds to the earlier ones.
ADDED = ("deny_extensions", "deny_commands", "deny_vars", "env_deny", "url_deny")
_RULE = _keys({
    "enabled": _flag,
    "scopes": _scopes,
    "paths": _keys({"allow": _roots, "deny": _texts, "read_only": _flag, "symlinks": _one_of("within", "never")}),
    "limits": _keys(_LIMITS),
    "params": _keys(_PARAMS),
    "audit": _one_of("off", "deny", "all"),
})
_TOKEN = _keys({"id": _text, "scopes": _scopes, "token_env": _text,
                "token_sha256": _is(str, "64 hexadecimal digits",
                                    lambda value: re.fullmatch("[0-9a-fA-F]{64}", value))})


def _groups(value, where):
    if isinstance(value, list):
        value = {name: True for name in _texts(value, where)}
    groups = _keys({name: _flag for name in GROUPS})(value, where)
    if groups.get("core") is False:
        _wrong(where + ".core", "it cannot be switched off")
    return groups


def _tokens(value, where):
    tokens = []
    for index, each in enumerate(_is(list, "a list")(value, where)):
        at = "%s[%d]" % (where, index)
        token = _TOKEN(each, at)
        for key in ("id", "scopes"):
            if key not in token:
                _wrong("%s.%s" % (at, key), "it is required")
        if ("token_env" in token) == ("token_sha256" in token):
            _wrong(at, "one of `token_env` and `token_sha256` is required; a token is never written here itself")
        if token["id"] in [other["id"] for other in tokens]:
            _wrong(at + ".id", "%r is there twice" % token["id"])
        tokens.append(token)
    return tokens


def _endpoints(value, where):
    if not isinstance(value, dict):
        _wrong(where, "%r is not an object" % (value,))
    rules = {}
    for selector, rule in value.items():
        if selector.startswith("group:"):
            if selector[6:] not in GROUPS:
                _wrong("%s.%s" % (where, selector), "unknown group%s" % _near(selector[6:], GROUPS))
        elif not any(char in selector for char in "*?[") and selector not in ENDPOINTS:
            _wrong("%s.%s" % (where, selector), "unknown endpoint%s" % _near(selector, ENDPOINTS))
        rules[selector] = _RULE(rule, "%s.%s" % (where, selector))
    return rules


_POLICY = _keys({
    "version": _is(int, "1, the only version there is", lambda value: value == 1),
    "description": _is(str, "a string"),
    "preset": _one_of(*PRESETS),
    "base_dir": _is(str, "an absolute path", lambda value: os.path.isabs(value) and "\0" not in value),
    "groups": _groups,
    "defaults": _RULE,
    "auth": _keys({"tokens": _tokens, "allow_anonymous": _flag, "anonymous_scopes": _scopes}),
    "endpoints": _endpoints,
})


class ServerPolicy:
    """A checked policy. It never changes; `with_options` makes another."""

    def __init__(self, document):
        self.document = _POLICY(copy.deepcopy(document), "policy")

    from_dict = classmethod(lambda cls, document: cls(document))

    @classmethod
    def from_json(cls, text, where="policy"):
        """From JSON."""
        try:
            return cls(json.loads(text))
        except json.JSONDecodeError as error:
            _wrong(where, "it is not JSON: %s" % error)

    @classmethod
    def from_file(cls, path):
        """From a file of JSON."""
        try:
            with open(path, encoding="utf-8") as file:
                return cls.from_json(file.read(), path)
        except OSError as error:
            _wrong(path, error.strerror)

    @classmethod
    def preset(cls, name, **options):
        """A preset, with other top-level keys beside it."""
        return cls(dict(options, preset=name))

    @classmethod
    def only(cls, *names, paths=None, **rule):
        """Nothing but these endpoints: names, `transfer`, or `group:NAME`."""
        chosen = []
        for name in names:
            group = endpoints_of(name[6:]) if name.startswith("group:") else (name,)
            chosen += TRANSFER if name == "transfer" else group
        rules = _only(chosen)["endpoints"]
        for name in chosen:
            own = dict(rule, paths=paths) if paths and ENDPOINTS.get(name) and ENDPOINTS[name].path_use else rule
            rules[name] = dict(copy.deepcopy(own), enabled=True)
        return cls({"endpoints": rules})

    @classmethod
    def from_environment(cls, environment=None):
        """`ABX_SERVER_POLICY`, else the file `ABX_SERVER_POLICY_FILE`, else the one in /etc, else an empty one."""
        environment = os.environ if environment is None else environment
        if environment.get("ABX_SERVER_POLICY"):
            return cls.from_json(environment["ABX_SERVER_POLICY"], "ABX_SERVER_POLICY")
        if environment.get("ABX_SERVER_POLICY_FILE"):
            return cls.from_file(environment["ABX_SERVER_POLICY_FILE"])
        return cls.from_file(FILE) if os.path.isfile(FILE) else cls({})

    def with_options(self, **options):
        """Another policy, with these top-level keys replaced."""
        return ServerPolicy(dict(self.document, **options))

    def to_dict(self):
        """A copy of the document."""
        return copy.deepcopy(self.document)

    @property
    def preset_name(self):
        """The preset it builds on."""
        return self.document.get("preset", "default")

    @property
    def revision(self):
        """Differs where the document differs."""
        return hashlib.sha256(json.dumps(self.document, sort_keys=True).encode()).hexdigest()[:16]

    def layers(self):
        """`(selector, strength, rule, origin)` of the preset, then of the document. Strength: 2 and 3."""
        found = []
        preset = _POLICY(PRESETS[self.preset_name], "preset")
        named = "preset:%s:" % self.preset_name
        for document, strength, origin in ((preset, 2, named), (self.document, 3, "policy:")):
            if "defaults" in document:
                found.append(("@defaults", strength, document["defaults"], origin + "defaults"))
            for group, enabled in document.get("groups", {}).items():
                found.append(("group:" + group, strength, {"enabled": enabled}, origin + "groups." + group))
            for selector, rule in document.get("endpoints", {}).items():
                found.append((selector, strength, rule, origin + "endpoints." + selector))
        return found
