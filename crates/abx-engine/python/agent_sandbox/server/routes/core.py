"""/health, /capabilities, /capabilities/check."""

from .. import endpoints
from ..app import Request
from ..refusal import PolicyDenied, Refusal

API_VERSION = 2
VERSION = "1"


def health(_request):
    """Answers anybody."""
    return {"status": "ok"}


def capabilities(request):
    """Groups, endpoints, and what of it this caller may use."""
    rules, policy = request.server.rules, request.server.policy
    summary = rules.summary()
    warnings = []
    if request.server.identities.has_tokens and "*" in request.identity.scopes:
        warnings.append("this token may do everything")
    return {
        "api_version": API_VERSION,
        "server_version": VERSION,
        "groups": {group: counts["enabled"] > 0 for group, counts in summary.items()},
        "group_summary": summary,
        "identity": {"id": request.identity.id, "scopes": sorted(request.identity.scopes)},
        "policy": {
            "preset": policy.preset_name,
            "revision": policy.revision,
            "configured": bool(set(policy.document) - {"version"}),
        },
        "endpoints": {name: _described(name, request) for name in endpoints.ENDPOINTS},
        "warnings": warnings,
    }


def check(request):
    """Whether a call of `endpoint`, about `path` or `paths`, would be allowed."""
    name = request.body.get("endpoint")
    if not isinstance(name, str) or not name:
        raise Refusal(400, "'endpoint' is missing")
    paths, use = request.body.get("paths") or [], request.body.get("op")
    if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
        raise Refusal(400, "'paths' is not a list of strings")
    if use not in (None, "read", "write", "delete", "exec"):
        raise Refusal(400, "'op' is read, write, delete or exec")
    try:
        _judge(request, name, paths, use)
    except PolicyDenied as denied:
        return {"endpoint": name, "allowed": False, "code": denied.code, "reason": denied.message}
    return {"endpoint": name, "allowed": True, "code": None, "reason": None}


def _judge(request, name, paths, use):
    endpoint = endpoints.ENDPOINTS.get(name)
    if endpoint is None:
        raise PolicyDenied("unknown_endpoint", "there is no endpoint %r" % name)
    described = _described(name, request)
    rule = request.server.rules.by_name[name]
    if described["reason"] == "endpoint_disabled":
        raise PolicyDenied("endpoint_disabled", rule.why_disabled())
    if described["reason"]:
        raise PolicyDenied("missing_scope", "%r lacks a scope that %r needs" % (request.identity.id, name))
    there = Request(request.server, request.identity, rule, {}, {}, {}, request.is_awaited)
    single = request.body.get("path")
    for each in ([single] if single is not None else []) + paths:
        there.path(each, use or endpoint.path_use or "read")


def _described(name, request):
    endpoint, rule = endpoints.ENDPOINTS[name], request.server.rules.by_name[name]
    reason = None
    if not rule.enabled:
        reason = "endpoint_disabled"
    elif not all(request.identity.can(scope) for scope in rule.scopes):
        reason = "missing_scope"
    described = {
        "method": endpoint.method, "path": endpoint.path, "group": endpoint.group, "summary": endpoint.summary,
        "streaming": endpoint.streams, "enabled": rule.enabled, "allowed": reason is None, "reason": reason,
        "rule": rule.origin or None, "scopes": list(rule.scopes),
    }
    if reason is None:
        described.update(limits=rule.limits, params=rule.params)
        if endpoint.path_use:
            described["paths"] = {
                "allow": list(rule.allow), "read_only": rule.read_only, "deny_count": len(rule.deny),
                "symlinks": rule.symlinks,
            }
    return described
