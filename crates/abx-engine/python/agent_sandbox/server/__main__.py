"""`python3 -m agent_sandbox.server`: serve, healthcheck, check-config, version."""

import argparse
import importlib
import json
import os
import sys
import urllib.error
import urllib.request

from .app import PORT, SandboxServer
from .identity import Identities
from .policy import PolicyConfigError, ServerPolicy
from .rules import Rules

VERSION = "1"


def main(words=None):
    """Does what the words say; returns the status."""
    arguments = _parser().parse_args(words)
    try:
        return arguments.run(arguments)
    except (PolicyConfigError, OSError, ImportError, ValueError) as error:
        sys.stderr.write("agent-sandbox-server: %s\n" % error)
        return 1


def _parser():
    parser = argparse.ArgumentParser(prog="agent-sandbox-server", description=__doc__)
    parser.set_defaults(run=_serve, host="0.0.0.0", port=PORT, pty_port=None, commands=[], policy=None,
                        preset=None, base_dir=None)
    verbs = parser.add_subparsers(metavar="serve | healthcheck | check-config | version")
    serve = verbs.add_parser("serve", help="serve HTTP, and terminals on a port of their own")
    serve.add_argument("--host", default="0.0.0.0")
    serve.add_argument("--port", type=int, default=PORT)
    serve.add_argument("--pty-port", type=int)
    serve.add_argument("--commands", action="append", default=[], metavar="FILE_OR_MODULE")
    serve.add_argument("--base-dir", metavar="DIR")
    serve.set_defaults(run=_serve)
    health = verbs.add_parser("healthcheck", help="status 0 where a server answers")
    health.add_argument("--host", default="127.0.0.1")
    health.add_argument("--port", type=int, default=PORT)
    health.add_argument("--timeout", type=float, default=2.0)
    health.set_defaults(run=_healthcheck)
    check = verbs.add_parser("check-config", help="check a policy and show what it comes to")
    check.add_argument("--json", action="store_true")
    check.add_argument("--strict", action="store_true", help="status 2 where something is to be warned of")
    check.set_defaults(run=_check)
    for verb in (serve, check):
        verb.add_argument("--policy", metavar="FILE")
        verb.add_argument("--preset")
    verbs.add_parser("version", help="print the version").set_defaults(run=_version)
    return parser


def _policy(arguments):
    policy = ServerPolicy.from_file(arguments.policy) if arguments.policy else ServerPolicy.from_environment()
    return policy.with_options(preset=arguments.preset) if arguments.preset else policy


def _serve(arguments):
    if arguments.base_dir:
        os.environ["ABX_SERVER_BASE_DIR"] = arguments.base_dir
    server = SandboxServer(host=arguments.host, pty_port=arguments.pty_port, policy=_policy(arguments))
    for commands in arguments.commands:
        if commands.endswith(".py") or os.sep in commands:
            from .. import kept
            kept.load(os.path.realpath(commands), "_abx_commands_%d" % abs(hash(commands)))
        else:
            importlib.import_module(commands)
    server.serve(arguments.port)
    return 0


def _healthcheck(arguments):
    url = "http://%s:%d/health" % (arguments.host, arguments.port)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=arguments.timeout) as answer:
            return 0 if answer.status == 200 else 1
    except (urllib.error.URLError, OSError):
        return 1


def _check(arguments):
    policy = _policy(arguments)
    rules, identities = Rules(policy), Identities(policy)
    warnings = []
    if not identities.has_tokens:
        warnings.append("no token is known: everybody who reaches the port may use it")
    rows = [{"endpoint": name, "enabled": rule.enabled, "rule": rule.origin or None, "scopes": list(rule.scopes)}
            for name, rule in rules.by_name.items()]
    if arguments.json:
        print(json.dumps({"revision": policy.revision, "endpoints": rows, "warnings": warnings}, indent=2))
    else:
        for row in rows:
            state = "on" if row["enabled"] else "off"
            print("%-4s %-22s %s" % (state, row["endpoint"], row["rule"] or " ".join(row["scopes"])))
        for warning in warnings:
            print("warning: " + warning)
    return 2 if warnings and arguments.strict else 0


def _version(_arguments):
    print(VERSION)
    return 0


if __name__ == "__main__":
    sys.exit(main())
