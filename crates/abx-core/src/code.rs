//! The stable error codes.

/// Declares the table once: variant, number, meaning, exit status of a command that fails with it.
macro_rules! codes {
    ($($variant:ident = $number:literal, $exit:literal, $meaning:literal;)*) => {
        /// A stable error code, `E2004` and the like. Users and programs match on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// Every code, in the order of its number.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The printed form, `E2004`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $number,)* }
            }

            /// One line on what the code means.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// The exit status of a command that fails with this code:
            /// 1 failure, 2 usage, 3 authentication, 4 not found, 5 timeout, 6 a limit or quota.
            pub fn exit_status(self) -> u8 {
                match self { $(Self::$variant => $exit,)* }
            }
        }
    };
}

codes! {
    ApiKey = "E1001", 3, "API key missing or wrong";
    GithubToken = "E1010", 3, "GitHub refused the token";
    RegistryCredentials = "E1011", 3, "registry refused the credentials";
    CreateFailed = "E2000", 1, "creation failed";
    TemplateNotFound = "E2001", 4, "template not found";
    Quota = "E2002", 6, "quota";
    SpecInvalid = "E2004", 2, "specification malformed or invalid";
    ReferenceInvalid = "E2005", 2, "reference malformed";
    NoVersion = "E2006", 4, "no version matches the selector";
    Inheritance = "E2007", 2, "inheritance cycle or depth";
    LockDrift = "E2008", 1, "lock drift under --frozen";
    NoSandbox = "E2009", 4, "no such sandbox";
    NotReady = "E2010", 5, "not ready (probe, startup command)";
    HostLacks = "E2011", 1, "the host lacks a feature";
    Execution = "E3000", 1, "execution failed";
    ExecTimeout = "E3001", 5, "execution timed out";
    ExitStatus = "E3002", 1, "command ended with a failure";
    CodeFailed = "E3003", 1, "code execution failed";
    Capability = "E3004", 1, "capability not granted";
    NoCommand = "E3005", 4, "no such named command";
    GuestRefused = "E3006", 1, "the sandbox's daemon refused the call";
    Limit = "E3010", 6, "a limit was hit";
    File = "E4000", 1, "file error";
    FileNotFound = "E4001", 4, "file not found";
    FilePermission = "E4002", 1, "no permission for the file";
    FileSize = "E4003", 6, "file too large or no space";
    Network = "E5000", 1, "network failure";
    RateLimit = "E5000", 6, "primary rate limit";
    Unreachable = "E5001", 5, "cannot connect, or timed out";
    GithubForbidden = "E5002", 3, "GitHub forbids";
    GithubSecondary = "E5003", 6, "GitHub's secondary rate limit";
    ServerFailed = "E5004", 1, "the other side failed";
    Offline = "E5005", 1, "offline and not in the cache";
    ArchiveUnsafe = "E5020", 1, "archive unsafe or damaged";
    ArchiveCap = "E5021", 6, "archive over a cap";
    DigestMismatch = "E5022", 1, "digest mismatch";
    Session = "E6000", 1, "session failed";
    SessionNotFound = "E6001", 4, "no such session";
    SessionExists = "E6002", 1, "session exists";
    BuildStep = "E7010", 1, "build step failed";
    BuildTimeout = "E7011", 5, "build timed out";
    BaseImage = "E7012", 1, "base image not to be had";
    PushFailed = "E7021", 1, "push failed";
    RegistryLogin = "E7022", 3, "registry log-in failed";
}

impl Code {
    /// The code of a failed file operation.
    pub fn of_file(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::FilePermission,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Self::FileSize,
            ErrorKind::NotFound => Self::FileNotFound,
            _ => Self::File,
        }
    }

    /// What to do where something could not be written below the state folder, and this is its code.
    pub fn home_hints(self) -> Vec<String> {
        match self {
            Self::FilePermission => {
                vec!["run as root (sudo), or set ABX_HOME to a folder you may write".into()]
            }
            Self::FileSize => vec!["free some space, or set ABX_HOME to a larger disk".into()],
            _ => Vec::new(),
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn numbers_ascend_and_one_has_two_meanings() {
        let numbers: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert!(numbers.is_sorted());
        let twice: Vec<_> =
            numbers.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        // A network that fails, and a limit that is used up: two statuses.
        assert_eq!(twice, ["E5000"]);
    }
}
