"""An answer that is an error."""


class Refusal(Exception):
    """`{"error": …, "type": …}` with a status, and what else there is to say."""

    def __init__(self, status, message, type="ValueError", **extra):
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type
        self.extra = extra

    def body(self):
        """The JSON object."""
        return dict({"error": self.message, "type": self.type}, **self.extra)


class PolicyDenied(Refusal):
    """The policy says no. `code` is stable."""

    def __init__(self, code, message, *, status=403, type="PolicyDenied", **extra):
        super().__init__(status, message, type, code=code, **extra)
        self.code = code
