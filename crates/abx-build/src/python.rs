//! What every template with Python has: `python` beside `python3`, and a pip that works as any user.

use std::io;
use std::path::Path;

use crate::canvas::{Canvas, Owner};

const PIP_CONF: &str = "/etc/pip.conf";

/// Brings both about where the layers so far have Python and lack them.
pub(crate) fn settle(canvas: &Canvas) -> io::Result<()> {
    let view = canvas.view();
    for directory in ["/usr/local/bin", "/usr/bin"] {
        let python = Path::new(directory).join("python");
        if view.exists(format!("{directory}/python3"))? && !view.exists(&python)? {
            canvas.link(&python, Path::new("python3"), Owner::ROOT)?;
        }
    }
    if is_managed(canvas)? {
        // A sandbox is what PEP 668 asks for; the marker itself belongs to a package and would come back
        // with its next update.
        let conf = view.read(PIP_CONF)?.unwrap_or_default();
        if !conf.contains("break-system-packages") {
            canvas.edit(PIP_CONF, &allow_system_packages(&conf))?;
        }
    }
    Ok(())
}

/// Whether the distribution asks pip to keep off its Python.
fn is_managed(canvas: &Canvas) -> io::Result<bool> {
    let view = canvas.view();
    for name in view.list("/usr/lib")? {
        if name.starts_with("python3") && view.exists(format!("/usr/lib/{name}/EXTERNALLY-MANAGED"))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn allow_system_packages(conf: &str) -> String {
    const LINE: &str = "break-system-packages = true\n";
    match conf.find("[global]") {
        Some(at) => {
            let end = conf[at..].find('\n').map_or(conf.len(), |newline| at + newline + 1);
            let (head, tail) = conf.split_at(end);
            let newline = if head.ends_with('\n') { "" } else { "\n" };
            format!("{head}{newline}{LINE}{tail}")
        }
        None if conf.is_empty() => format!("[global]\n{LINE}"),
        None => format!("[global]\n{LINE}\n{conf}"),
    }
}

#[cfg(test)]
mod tests {
    use super::allow_system_packages;

    #[test]
    fn the_rest_of_the_configuration_stays() {
        for (conf, expected) in [
            ("", "[global]\nbreak-system-packages = true\n"),
            ("[global]\na = 1\n", "[global]\nbreak-system-packages = true\na = 1\n"),
            ("[global]", "[global]\nbreak-system-packages = true\n"),
            ("[install]\na = 1\n", "[global]\nbreak-system-packages = true\n\n[install]\na = 1\n"),
        ] {
            assert_eq!(allow_system_packages(conf), expected);
        }
    }
}
