//! The last step of a template: what a login shell and later stages find in its image.

use std::io;
use std::path::Path;

use crate::canvas::{Canvas, Owner};
use crate::env::is_name;
use crate::tree::Tree;

/// Sourced by `/etc/profile`, after the line in it that resets PATH. The name sorts it behind the others.
const PROFILE: &str = "/etc/profile.d/zz-abx.sh";

/// Does the step on `canvas`.
pub(crate) fn finish(
    canvas: &Canvas,
    env: &[(String, String)],
    keep: &Tree,
    directory: &Path,
) -> io::Result<()> {
    canvas.file(PROFILE, profile(env).as_bytes(), 0o644, Owner::ROOT)?;
    if keep.is_empty() {
        return Ok(());
    }
    crate::copy::copy(canvas, keep, "", &directory.display().to_string(), Path::new("/"), Owner::ROOT)
}

/// PATH is set in any case, because `/etc/profile` has just overwritten it. Other variables are set where
/// they are missing (`su -`, `sudo -i`), so that a caller's own values stay.
fn profile(env: &[(String, String)]) -> String {
    let mut text = String::from("# The template's environment.\n");
    for (name, value) in env.iter().filter(|(name, _)| is_name(name)) {
        let value = quote(value);
        text += &match name.as_str() {
            "PATH" => format!("export PATH={value}\n"),
            name => format!("[ -n \"${{{name}+x}}\" ] || export {name}={value}\n"),
        };
    }
    text
}

/// A word that a shell takes as it is.
fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_any_value() {
        let env = [
            ("PATH".to_owned(), "/opt/x y/bin:/bin:/usr/bin".to_owned()),
            ("QUOTED".to_owned(), "it's $HOME `x` \"\n\\".to_owned()),
            ("KEPT".to_owned(), "template".to_owned()),
            ("bad-name".to_owned(), "x".to_owned()),
        ];
        let script = format!("set -eu\n{}\nprintf '%s|%s|%s' \"$PATH\" \"$QUOTED\" \"$KEPT\"", profile(&env));
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &script])
            .env_clear()
            .env("PATH", "/reset")
            .env("KEPT", "caller")
            .output()
            .expect("sh");
        let expected = format!("{}|{}|caller", env[0].1, env[1].1);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}
