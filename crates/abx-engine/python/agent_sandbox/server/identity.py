"""Who calls, and what they may do."""

import dataclasses
import hashlib
import hmac
import os
from typing import FrozenSet

from .policy import PolicyConfigError
from .refusal import PolicyDenied, Refusal

TOKEN = "ABX_SERVER_TOKEN"


@dataclasses.dataclass(frozen=True)
class Identity:
    """A caller."""

    id: str
    scopes: FrozenSet[str]

    def can(self, scope):
        """It has the scope: itself, its family (`files:*`) or all (`*`). Everybody may look what there is."""
        family = scope.split(":")[0] + ":*"
        return scope == "core:read" or bool({"*", scope, family} & self.scopes)


class Identities:
    """The tokens a server knows. Where it knows none, everybody is welcome."""

    def __init__(self, policy, environment=None):
        environment = os.environ if environment is None else environment
        auth = policy.document.get("auth", {})
        tokens = auth.get("tokens", [])
        if environment.get(TOKEN) and not tokens:
            tokens = [{"id": "server", "scopes": ["*"], "token_env": TOKEN}]
        #: Variables that no caller and no program gets to see.
        self.secret_variables = {TOKEN, "ABX_SERVER_POLICY", "ABX_SERVER_POLICY_FILE"}
        self._known = [(Identity(each["id"], frozenset(each["scopes"])), self._digest(each, environment))
                       for each in tokens]
        self._anonymous = None
        if not tokens or auth.get("allow_anonymous"):
            self._anonymous = Identity("anonymous", frozenset(auth.get("anonymous_scopes", ["*"])))

    def _digest(self, token, environment):
        if "token_sha256" in token:
            return bytes.fromhex(token["token_sha256"])
        variable = token["token_env"]
        self.secret_variables.add(variable)
        if not environment.get(variable):
            raise PolicyConfigError("the token %r: the variable %s is not set" % (token["id"], variable))
        return hashlib.sha256(environment[variable].encode()).digest()

    @property
    def has_tokens(self):
        """Somebody has to show a token."""
        return bool(self._known)

    def of(self, headers):
        """Who sends these headers.

        Raises 400 where they name two, 401 where they name nobody who is known."""
        shown = [value for value in headers.get_all("X-Access-Token") or [] if value]
        for value in headers.get_all("Authorization") or []:
            scheme, _, token = value.partition(" ")
            if scheme.lower() == "bearer" and token.strip():
                shown.append(token.strip())
        if len(set(shown)) > 1:
            raise PolicyDenied("ambiguous_credentials", "the headers carry different tokens", status=400,
                               type="ValueError")
        if shown and self.has_tokens:
            return self.with_token(shown[0])
        if self._anonymous is None:
            raise _unauthorized()
        return self._anonymous

    def with_token(self, token):
        """Whose token it is. Raises 401 where nobody's."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found = [identity for identity, known in self._known if hmac.compare_digest(known, digest)]
        if not found:
            raise _unauthorized()
        return found[0]


def _unauthorized():
    return Refusal(401, "unauthorized", "AuthError", code="unauthorized")
