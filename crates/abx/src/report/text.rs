//! The form a person reads.

use abx_core::Fault;

use super::excerpt::excerpt;
use super::{log_line, message, plain};
use crate::output::Paint;

/// `error[E2004]: message`, the places, the details, the advice; then every further fault in the same form,
/// an empty line between two.
pub(crate) fn text(fault: &dyn Fault, paint: Paint) -> String {
    let mut faults = Vec::new();
    collect(fault, &mut faults);
    faults.iter().map(|fault| one(*fault, paint)).collect::<Vec<_>>().join("\n")
}

fn collect<'a>(fault: &'a dyn Fault, faults: &mut Vec<&'a dyn Fault>) {
    faults.push(fault);
    for other in fault.others() {
        collect(other, faults);
    }
}

fn one(fault: &dyn Fault, paint: Paint) -> String {
    titled(&paint.error(&format!("error[{}]", fault.code())), fault, paint)
}

/// Something questionable in the form of an error, under the title `warning`.
pub(crate) fn warning_text(fault: &dyn Fault, paint: Paint) -> String {
    titled(&paint.warning("warning"), fault, paint)
}

/// Advice in the form of an error, under the title `hint`.
pub(crate) fn hint_text(fault: &dyn Fault, paint: Paint) -> String {
    titled(&paint.help("hint"), fault, paint)
}

fn titled(title: &str, fault: &dyn Fault, paint: Paint) -> String {
    let mut text = format!("{title}: {}\n", paint.bold(&lines(&message(fault), "       ")));
    for snippet in fault.snippets() {
        text.push_str(&excerpt(&snippet, paint));
    }
    for detail in fault.details() {
        for line in detail.lines() {
            text.push_str(format!("  {}", log_line(line)).trim_end());
            text.push('\n');
        }
    }
    for hint in fault.hints() {
        text.push_str(&format!("{}: {}\n", paint.help("help"), lines(&hint, "      ")));
    }
    text
}

/// Text whose second and further lines are set in.
fn lines(text: &str, indent: &str) -> String {
    text.trim_end().lines().map(plain).collect::<Vec<_>>().join(&format!("\n{indent}"))
}
