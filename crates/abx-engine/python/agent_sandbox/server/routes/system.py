"""/system/info, /system/metrics, /env, /ports, /packages."""

import fnmatch
import json
import os
import platform
import shutil
import subprocess
import sys
import time

from ..programs import variables
from ..refusal import PolicyDenied, Refusal

SECRET_WORDS = ("TOKEN", "SECRET", "KEY", "PASSWORD", "CREDENTIAL")
PROTECTED = ("PATH", "HOME", "USER", "SHELL")
_STARTED = time.time()
_LISTENS = "0A"


def info(_request):
    """What the sandbox is."""
    total, available = _memory()
    disk = shutil.disk_usage("/")
    return {
        "os": platform.system(), "arch": platform.machine(), "hostname": platform.node(),
        "cpu_count": os.cpu_count() or 0, "python_version": platform.python_version(),
        "memory_total_mb": total, "memory_available_mb": available,
        "disk_total_gb": _gb(disk.total), "disk_free_gb": _gb(disk.free),
    }


def metrics(_request):
    """How busy it is."""
    total, available = _memory()
    disk = shutil.disk_usage("/")
    return {
        "cpu_load_1m": round(os.getloadavg()[0], 2), "cpu_load_5m": round(os.getloadavg()[1], 2),
        "cpu_load_15m": round(os.getloadavg()[2], 2),
        "memory_used_mb": total - available, "memory_total_mb": total,
        "memory_percent": round((total - available) / total * 100, 1) if total else 0.0,
        "disk_used_gb": _gb(disk.used), "disk_total_gb": _gb(disk.total),
        "disk_percent": round(disk.used / disk.total * 100, 1) if disk.total else 0.0,
        "uptime_seconds": round(time.time() - _STARTED, 1),
    }


def env(request):
    """Variables, those of `filter` only where it names some. What may be a secret is never among them."""
    wanted = [name.strip() for name in request.query.get("filter", "").split(",") if name.strip()]
    return {"variables": {
        name: value for name, value in os.environ.items()
        if _may(request, name) and not _is_secret(name) and (not wanted or name in wanted)
    }}


def set_env(request):
    """Sets variables that programs started from now on get."""
    if not isinstance(request.body.get("vars"), dict):
        raise Refusal(400, "'vars' is not an object")
    given = variables(request, "vars")
    protected = sorted(name for name in given if name in PROTECTED or name.upper().startswith("ABX_"))
    if protected:
        raise Refusal(403, "Cannot overwrite protected variable(s): %s" % ", ".join(protected), "PermissionError")
    for name in given:
        if not _may(request, name):
            raise PolicyDenied("env_var_not_allowed", "the policy does not allow the variable %r" % name)
    os.environ.update(given)
    return {"updated": sorted(given)}


def ports(_request):
    """The TCP ports that somebody listens on."""
    listening = []
    for protocol in ("tcp", "tcp6"):
        for line in _lines("/proc/net/" + protocol)[1:]:
            words = line.split()
            address, port = words[1].split(":")
            if words[3] == _LISTENS:
                listening.append({"port": int(port, 16), "protocol": protocol, "address": _address(address),
                                  "pid": None})
    return {"listening": listening}


def packages(request):
    """What pip or npm has installed."""
    manager = request.query.get("manager", "pip")
    words = {"pip": [sys.executable, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
             "npm": ["npm", "list", "--global", "--json", "--depth=0"]}.get(manager)
    if words is None:
        raise Refusal(400, "Unsupported package manager: %r; there are pip and npm" % manager)
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
                              env=request.server.child_environment())
        found = json.loads(done.stdout.decode("utf-8", "replace") or "[]")
    except subprocess.TimeoutExpired:
        raise Refusal(500, "%s timed out" % manager, "TimeoutError")
    except (OSError, ValueError):
        found = []
    if isinstance(found, dict):
        found = [dict(each, name=name) for name, each in found.get("dependencies", {}).items()]
    named = [{"name": each.get("name", ""), "version": each.get("version", "")} for each in found]
    return {"manager": manager, "packages": named}


def _may(request, name):
    allow = request.rule.params.get("allow_vars", [])
    fits = lambda patterns: any(fnmatch.fnmatchcase(name, each) for each in patterns)  # noqa: E731
    denied = request.server.is_secret(name) or fits(request.rule.params.get("deny_vars", []))
    return not denied and (not allow or fits(allow))


def _is_secret(name):
    return any(word in name.upper() for word in SECRET_WORDS)


def _memory():
    """MB in all, and MB to be had."""
    rows = dict(line.split(":", 1) for line in _lines("/proc/meminfo") if ":" in line)
    return tuple(int(rows.get(row, "0 kB").split()[0]) // 1024 for row in ("MemTotal", "MemAvailable"))


def _lines(path):
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:
        return []


def _address(text):
    """As /proc has it: each group of four bytes in the machine's order."""
    raw = b"".join(bytes.fromhex(text[at:at + 8])[::-1] for at in range(0, len(text), 8))
    if len(raw) == 4:
        return ".".join(map(str, raw))
    return "[::]" if not any(raw) else "[%s]" % ":".join("%x" % int.from_bytes(raw[at:at + 2], "big")
                                                          for at in range(0, 16, 2))


def _gb(count):
    return round(count / (1 << 30), 2)
