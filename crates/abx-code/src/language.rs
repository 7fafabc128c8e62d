//! Which program runs a language.

use crate::kernel::Program;
use crate::kernel::spec::{self, KernelSpec};
use crate::settings::Settings;

/// The language of a request that names none.
pub(crate) const DEFAULT: &str = "python";

/// The name under which a language is known here.
pub(crate) fn canonical(name: &str) -> String {
    let name = name.trim().to_lowercase();
    match name.as_str() {
        "" | "py" | "python3" => DEFAULT.to_owned(),
        "js" | "node" => "javascript".to_owned(),
        "ts" => "typescript".to_owned(),
        "sh" | "shell" => "bash".to_owned(),
        _ => name,
    }
}

/// The kernel for a language under its canonical name; for Python else the worker, for TypeScript else JavaScript's
/// kernel. A kernel's own name will do too.
pub(crate) fn program(language: &str, settings: &Settings) -> Option<Program> {
    let specs = spec::find(settings);
    if let Some(spec) = choose(language, &specs) {
        return Some(Program::Jupyter(spec.clone()));
    }
    let python =
        || spec::on_path("python3", &settings.env).or_else(|| spec::on_path("python", &settings.env));
    (language == DEFAULT).then(python).flatten().map(Program::Worker)
}

fn choose<'a>(language: &str, specs: &'a [KernelSpec]) -> Option<&'a KernelSpec> {
    let of = |language: &str| specs.iter().find(|spec| canonical(&spec.language) == language);
    // Of several Pythons the one that Jupyter takes by itself.
    let usual = specs.iter().find(|spec| language == DEFAULT && spec.name == "python3");
    let else_ = (language == "typescript").then(|| of("javascript")).flatten();
    usual.or_else(|| of(language)).or_else(|| specs.iter().find(|spec| spec.name == language)).or(else_)
}

/// What can be asked for, for those who asked for something else.
pub(crate) fn known(settings: &Settings) -> Vec<String> {
    let mut known: Vec<String> = spec::find(settings).iter().map(|spec| canonical(&spec.language)).collect();
    if program(DEFAULT, settings).is_some() {
        known.push(DEFAULT.to_owned());
    }
    known.sort();
    known.dedup();
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_the_kernel_meant_for_them() {
        let specs = ["cpp:c++", "jslab:javascript", "py-old:python", "python3:python", "ir:R", "bash:bash"]
            .map(|text| {
                let (name, language) = text.split_once(':').expect("two words");
                KernelSpec {
                    name: name.into(),
                    language: language.to_lowercase(),
                    argv: Vec::new(),
                    env: Default::default(),
                    interrupted_by_message: false,
                }
            });
        let rows = [
            ("", "python3"),
            ("Python", "python3"),
            ("js", "jslab"),
            ("ts", "jslab"),
            ("R", "ir"),
            ("py-old", "py-old"),
            ("sh", "bash"),
            ("cpp", "cpp"),
            ("cobol", "-"),
        ];
        for (asked, expect) in rows {
            let chosen = choose(&canonical(asked), &specs).map_or("-", |spec| &spec.name);
            assert_eq!(chosen, expect, "{asked}");
        }
    }
}
