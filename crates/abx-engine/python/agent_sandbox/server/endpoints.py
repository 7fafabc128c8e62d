"""Every endpoint: its name (what policies call it), method and path, group, scopes, and the code that answers.

A group is a name for its endpoints, no more. `core` is always on, the groups in `OFF` are off until asked for.
"""

import dataclasses
import importlib
from typing import Tuple

GROUPS = (
    "core", "commands", "file_ops", "process", "terminal", "system", "dev_tools", "browser", "agents",
)
#: Off unless a policy or `ABX_SERVER_ENABLED_GROUPS` says otherwise.
OFF = ("dev_tools", "browser", "agents")
#: Answer whatever a policy says.
ALWAYS = ("health", "capabilities", "capabilities_check")
TRANSFER = ("files_upload_stream", "files_download_stream")


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """One row of the table."""

    name: str
    method: str
    path: str
    group: str
    scopes: Tuple[str, ...]
    #: `module:function` below `routes`; empty for what another port serves.
    handler: str
    summary: str
    #: read, write, delete or exec where it is about paths, else empty.
    path_use: str = ""
    streams: bool = False
    runs_programs: bool = False

    def answer(self, request):
        """Calls the code behind it, which is loaded then."""
        module, function = self.handler.split(":")
        return getattr(importlib.import_module("agent_sandbox.server.routes." + module), function)(request)


def _row(name, method, path, group, scopes, handler, summary, **more):
    return Endpoint(name, method, path, group, tuple(scopes.split()), handler, summary, **more)


_ROWS = (
    _row("health", "GET", "/health", "core", "", "core:health", "whether it serves"),
    _row("capabilities", "GET", "/capabilities", "core", "core:read", "core:capabilities",
         "what there is, and what this caller may use"),
    _row("capabilities_check", "POST", "/capabilities/check", "core", "core:read", "core:check",
         "whether a call would be allowed"),
    _row("list_commands", "GET", "/commands", "commands", "commands:list", "commands:listed",
         "the named commands and their arguments"),
    _row("run_command", "POST", "/commands/{name}", "commands", "commands:run", "commands:run",
         "calls a named command"),
    _row("shell", "POST", "/shell", "process", "process:run", "shell:run",
         "runs a program and answers with its output", path_use="exec", runs_programs=True),
    _row("shell_stream", "POST", "/shell/stream", "process", "process:run", "shell:stream",
         "runs a program, its output as it comes", path_use="exec", runs_programs=True, streams=True),
    _row("process_start", "POST", "/process/start", "process", "process:run", "process:start",
         "starts a program in the background", path_use="exec", runs_programs=True),
    _row("process_list", "GET", "/process/list", "process", "process:read", "process:listed",
         "the programs in the background"),
    _row("process_detail", "GET", "/process/{pid}", "process", "process:read", "process:detail",
         "one of them"),
    _row("process_signal", "POST", "/process/{pid}/signal", "process", "process:manage", "process:signal",
         "sends it a signal"),
    _row("process_stdin", "POST", "/process/{pid}/stdin", "process", "process:manage", "process:stdin",
         "writes to its input, or closes it"),
    _row("process_output", "GET", "/process/{pid}/output", "process", "process:read", "process:output",
         "what it has written"),
    _row("files_list", "GET", "/files/list", "file_ops", "files:read", "files:listed",
         "what is in a directory", path_use="read"),
    _row("files_stat", "GET", "/files/stat", "file_ops", "files:read", "files:stat",
         "what a path is", path_use="read"),
    _row("files_mkdir", "POST", "/files/mkdir", "file_ops", "files:write", "files:mkdir",
         "makes a directory", path_use="write"),
    _row("files_delete", "DELETE", "/files", "file_ops", "files:delete", "files:delete",
         "removes a file or directory", path_use="delete"),
    _row("files_move", "POST", "/files/move", "file_ops", "files:write files:delete", "files:move",
         "moves or renames", path_use="delete"),
    _row("files_search", "POST", "/files/search", "file_ops", "files:read", "files:search",
         "finds files by name", path_use="read"),
    _row("files_upload_stream", "POST", "/files/upload-stream", "file_ops", "files:write", "transfer:upload",
         "writes a file", path_use="write"),
    _row("files_download_stream", "GET", "/files/download-stream", "file_ops", "files:read", "transfer:download",
         "reads a file", path_use="read"),
    _row("files_archive", "POST", "/files/archive", "file_ops", "files:read", "transfer:archive",
         "packs files", path_use="read"),
    _row("files_watch", "GET", "/files/watch", "file_ops", "files:read", "watch:watch",
         "changes in a directory as they come", path_use="read", streams=True),
    _row("pty_create_session", "POST", "/pty/sessions", "terminal", "terminal:use", "terminal:create",
         "opens a terminal"),
    _row("pty_list_sessions", "GET", "/pty/sessions", "terminal", "terminal:use", "terminal:listed",
         "the open terminals"),
    _row("pty_detail", "GET", "/pty/sessions/{id}", "terminal", "terminal:use", "terminal:detail",
         "one of them"),
    _row("pty_resize", "POST", "/pty/sessions/{id}/resize", "terminal", "terminal:use", "terminal:resize",
         "changes its size"),
    _row("pty_delete_session", "DELETE", "/pty/sessions/{id}", "terminal", "terminal:use", "terminal:delete",
         "closes it"),
    _row("pty_connect", "WS", "/pty", "terminal", "terminal:use", "",
         "joins a terminal over WebSocket, on the port for terminals", streams=True),
    _row("system_info", "GET", "/system/info", "system", "system:read", "system:info", "what the sandbox is"),
    _row("system_metrics", "GET", "/system/metrics", "system", "system:read", "system:metrics",
         "how busy it is"),
    _row("env_get", "GET", "/env", "system", "system:read", "system:env", "variables, without secrets"),
    _row("env_set", "POST", "/env", "system", "system:write", "system:set_env",
         "sets variables of later programs"),
    _row("ports", "GET", "/ports", "system", "system:read", "system:ports", "the ports that are listened on"),
    _row("packages", "GET", "/packages", "system", "system:read", "system:packages", "installed packages"),
    _row("code_run", "POST", "/code/run", "dev_tools", "devtools:run", "dev_tools:run_code",
         "runs a piece of code", runs_programs=True),
    _row("git_status", "GET", "/git/status", "dev_tools", "devtools:read", "dev_tools:git_status",
         "what has changed in a repository", path_use="read"),
    _row("git_diff", "GET", "/git/diff", "dev_tools", "devtools:read", "dev_tools:git_diff",
         "how it has changed", path_use="read"),
)

ENDPOINTS = {row.name: row for row in _ROWS}


def endpoints_of(group):
    """The names of a group's endpoints."""
    return tuple(row.name for row in _ROWS if row.group == group)


def find(method, path):
    """`(endpoint, parameters of the path)`, or `(None, {})`. A fixed part goes before a parameter."""
    words = path.split("/")
    best, found = None, {}
    for row in _ROWS:
        if row.method != method:
            continue
        parts = row.path.split("/")
        if len(parts) != len(words):
            continue
        pairs = list(zip(parts, words))
        if all(part == word or (part.startswith("{") and word) for part, word in pairs):
            parameters = {part[1:-1]: word for part, word in pairs if part.startswith("{")}
            if best is None or len(parameters) < len(found):
                best, found = row, parameters
    return best, found
