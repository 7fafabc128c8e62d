"""The layers of a policy → one rule an endpoint, and whether a call keeps to it.

What selects more closely wins: all, a group, a pattern, a name. Among equals the later origin wins: default, preset,
policy, environment. Of one origin that says both, no wins.
"""

import dataclasses
import difflib
import fnmatch
import os
import threading
import time
from typing import Any, Dict, Tuple

from .endpoints import ALWAYS, ENDPOINTS, GROUPS, OFF
from .policy import ADDED, PolicyConfigError
from .refusal import PolicyDenied

ENABLED_GROUPS = "ABX_SERVER_ENABLED_GROUPS"


@dataclasses.dataclass
class Rule:
    """What holds for one endpoint."""

    endpoint: str
    enabled: bool = True
    scopes: Tuple[str, ...] = ()
    allow: Tuple[str, ...] = ()
    deny: Tuple[str, ...] = ()
    read_only: bool = False
    symlinks: str = "within"
    limits: Dict[str, Any] = dataclasses.field(default_factory=dict)
    params: Dict[str, Any] = dataclasses.field(default_factory=dict)
    audit: str = "deny"
    #: Which layer switched it off.
    origin: str = ""

    def why_disabled(self):
        """In words."""
        if self.origin.startswith("default:"):
            group = self.origin.split(":")[1]
            return "endpoint %r is off: its group %r is on only where %s=%s or a policy says so" % (
                self.endpoint, group, ENABLED_GROUPS, group)
        return "endpoint %r is switched off by %s" % (self.endpoint, self.origin)


class Rules:
    """A rule for every endpoint, and how often each has been used."""

    def __init__(self, policy, environment=None):
        environment = os.environ if environment is None else environment
        layers = [("group:" + group, 0, {"enabled": False}, "default:" + group) for group in OFF]
        layers += policy.layers()
        layers += [("group:" + group, 4, {"enabled": True}, "env:" + ENABLED_GROUPS)
                   for group in _listed(environment.get(ENABLED_GROUPS, ""))]
        layers.sort(key=lambda layer: (_closeness(layer[0]), layer[1], len(layer[0].split("*")[0])))
        self.by_name = {name: _merged(endpoint, layers) for name, endpoint in ENDPOINTS.items()}
        self._lock = threading.Lock()
        self._tokens = {}
        self._under_way = {}

    def admit(self, endpoint, identity):
        """The rule of the endpoint, for a caller who may use it now. `release` must follow."""
        rule = self.by_name[endpoint.name]
        if not rule.enabled:
            raise PolicyDenied("endpoint_disabled", rule.why_disabled(), status=404, type="ValueError",
                               endpoint=rule.endpoint, rule=rule.origin)
        for scope in rule.scopes:
            require(identity, scope, rule.endpoint)
        with self._lock:
            self._take(rule, (identity.id, rule.endpoint))
        return rule

    def release(self, rule, identity):
        """The call is over."""
        with self._lock:
            key = (identity.id, rule.endpoint)
            self._under_way[key] = max(0, self._under_way.get(key, 0) - 1)

    def _take(self, rule, key):
        rate = rule.limits.get("rate_per_minute")
        if rate:
            now = time.monotonic()
            left, since = self._tokens.get(key, (float(rate), now))
            left = min(float(rate), left + (now - since) * rate / 60)
            if left < 1:
                self._tokens[key] = (left, now)
                wait = int((1 - left) * 60 / rate) + 1
                raise _too_much("rate_limited", "called too often", rule, wait)
            self._tokens[key] = (left - 1, now)
        most = rule.limits.get("max_concurrency")
        if most and self._under_way.get(key, 0) >= most:
            raise _too_much("concurrency_limited", "too many calls at once", rule, 1)
        self._under_way[key] = self._under_way.get(key, 0) + 1

    def summary(self):
        """`{group: {"enabled": how many, "total": of how many}}`."""
        counts = {group: {"enabled": 0, "total": 0} for group in GROUPS}
        for name, endpoint in ENDPOINTS.items():
            counts[endpoint.group]["total"] += 1
            counts[endpoint.group]["enabled"] += self.by_name[name].enabled
        return counts


def require(identity, scope, endpoint):
    """Raises 403 where the caller lacks the scope."""
    if not identity.can(scope):
        raise PolicyDenied("missing_scope", "%r lacks the scope %r that %r needs" % (identity.id, scope, endpoint),
                           endpoint=endpoint, scope=scope)


def _too_much(code, message, rule, wait):
    limit = rule.limits.get("rate_per_minute" if code == "rate_limited" else "max_concurrency")
    return PolicyDenied(code, message, status=429, type="RateLimited", endpoint=rule.endpoint, limit=limit,
                        retry_after=wait)


def _listed(text):
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in GROUPS:
            near = difflib.get_close_matches(name, GROUPS, n=1)
            raise PolicyConfigError("%s: unknown group %r%s" % (
                ENABLED_GROUPS, name, ", did you mean %r?" % near[0] if near else ""))
    return names


def _closeness(selector):
    if selector == "@defaults":
        return 0
    if selector.startswith("group:"):
        return 1
    return 2 if any(char in selector for char in "*?[") else 3


def _selects(selector, endpoint):
    closeness = _closeness(selector)
    if closeness == 0:
        return True
    if closeness == 1:
        return selector[6:] == endpoint.group
    return fnmatch.fnmatchcase(endpoint.name, selector)


def _merged(endpoint, layers):
    rule = Rule(endpoint.name, scopes=endpoint.scopes)
    said_by = None
    for selector, strength, said, origin in layers:
        if not _selects(selector, endpoint):
            continue
        if "enabled" in said:
            equal = said_by == (_closeness(selector), strength)
            if not equal or rule.enabled:
                rule.enabled, rule.origin = said["enabled"], "" if said["enabled"] else origin
            said_by = (_closeness(selector), strength)
        rule.scopes = tuple(said.get("scopes", rule.scopes))
        rule.audit = said.get("audit", rule.audit)
        paths = said.get("paths", {})
        rule.allow = tuple(paths.get("allow", rule.allow))
        rule.deny += tuple(each for each in paths.get("deny", ()) if each not in rule.deny)
        rule.read_only = paths.get("read_only", rule.read_only)
        rule.symlinks = paths.get("symlinks", rule.symlinks)
        rule.limits.update(said.get("limits", {}))
        for name, value in said.get("params", {}).items():
            rule.params[name] = rule.params.get(name, []) + value if name in ADDED else value
    if endpoint.name in ALWAYS:
        rule.enabled, rule.origin = True, ""
    return rule
