//! How an exit is put into words, and the words back into numbers.

const NAMES: &[(i32, &str)] = &[
    (1, "hangup"),
    (2, "interrupt"),
    (3, "quit"),
    (4, "illegal instruction"),
    (5, "trace/breakpoint trap"),
    (6, "aborted"),
    (7, "bus error"),
    (8, "floating point exception"),
    (9, "killed"),
    (10, "user defined signal 1"),
    (11, "segmentation fault"),
    (12, "user defined signal 2"),
    (13, "broken pipe"),
    (14, "alarm clock"),
    (15, "terminated"),
];
const CORE: &str = " (core dumped)";

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal { number: i32, core_dumped: bool },
}

impl Exit {
    /// Reads the text of [`Exit::fmt`](std::fmt::Display).
    pub fn parse(status: &str) -> Option<Self> {
        if let Some(code) = status.strip_prefix("exit status ") {
            return code.parse().ok().map(Self::Code);
        }
        let name = status.strip_prefix("signal: ")?;
        let (name, core_dumped) = match name.strip_suffix(CORE) {
            Some(name) => (name, true),
            None => (name, false),
        };
        let number = match NAMES.iter().find(|(_, known)| *known == name) {
            Some((number, _)) => *number,
            None => name.strip_prefix("signal ")?.parse().ok()?,
        };
        Some(Self::Signal { number, core_dumped })
    }

    /// The status a shell reports: the code, or 128 and the signal's number.
    pub fn shell_status(self) -> u8 {
        match self {
            Self::Code(code) => code as u8,
            Self::Signal { number, .. } => (128 + number) as u8,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal { number, core_dumped } => {
                match NAMES.iter().find(|(known, _)| *known == number) {
                    Some((_, name)) => write!(f, "signal: {name}")?,
                    None => write!(f, "signal: signal {number}")?,
                }
                f.write_str(if core_dumped { CORE } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn words_and_numbers_agree() {
        let rows = [
            (Exit::Code(0), "exit status 0", 0),
            (Exit::Code(3), "exit status 3", 3),
            (Exit::Signal { number: 9, core_dumped: false }, "signal: killed", 137),
            (Exit::Signal { number: 11, core_dumped: true }, "signal: segmentation fault (core dumped)", 139),
            (Exit::Signal { number: 40, core_dumped: false }, "signal: signal 40", 168),
        ];
        for (exit, text, status) in rows {
            assert_eq!(exit.to_string(), text);
            assert_eq!(Exit::parse(text), Some(exit));
            assert_eq!(exit.shell_status(), status);
        }
        assert_eq!(Exit::parse("gone"), None);
    }
}
