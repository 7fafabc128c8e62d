use abx_core::{Code, Fault, Snippet};

use super::{ErrorObject, text};
use crate::output::Paint;

#[derive(Debug, Default, thiserror::Error)]
#[error("{message}")]
struct Sample {
    message: String,
    #[source]
    cause: Option<std::io::Error>,
    snippets: Vec<Snippet>,
    details: Vec<String>,
    hints: Vec<String>,
    others: Vec<Self>,
}

impl Fault for Sample {
    fn code(&self) -> Code {
        Code::SpecInvalid
    }
    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
    fn snippets(&self) -> Vec<Snippet> {
        self.snippets.clone()
    }
    fn details(&self) -> Vec<String> {
        self.details.clone()
    }
    fn others(&self) -> Vec<&dyn Fault> {
        self.others.iter().map(|other| other as &dyn Fault).collect()
    }
}

fn sample(message: &str) -> Sample {
    Sample { message: message.into(), ..Sample::default() }
}

fn snippet(source: &str, column: usize, length: usize, label: &str) -> Snippet {
    Snippet {
        file: "./t/template.yaml".into(),
        line: 12,
        column,
        length,
        source: source.into(),
        label: label.into(),
    }
}

fn render(fault: &Sample) -> String {
    text(fault, Paint::new(false))
}

#[test]
fn a_fault_shows_message_place_details_and_advice() {
    let fault = Sample {
        snippets: vec![snippet("  memroy: 2048", 3, 6, "unknown key")],
        details: vec!["one\ntwo".into()],
        hints: vec!["did you mean `memory`?".into(), "see the reference".into()],
        ..sample("unknown key `memroy` in `resources`")
    };
    assert_eq!(
        render(&fault),
        "\
error[E2004]: unknown key `memroy` in `resources`
  --> ./t/template.yaml:12:3
   |
12 |   memroy: 2048
   |   ^^^^^^ unknown key
  one
  two
help: did you mean `memory`?
help: see the reference
"
    );
}

#[test]
fn all_faults_of_a_run_are_shown() {
    let fault = Sample { others: vec![sample("second"), sample("third")], ..sample("first") };
    assert_eq!(render(&fault), "error[E2004]: first\n\nerror[E2004]: second\n\nerror[E2004]: third\n");
}

#[test]
fn causes_follow_unless_the_message_quotes_them() {
    let cause = || Some(std::io::Error::other("disk on fire"));
    let fault = Sample { cause: cause(), ..sample("cannot read it") };
    assert_eq!(render(&fault), "error[E2004]: cannot read it: disk on fire\n");
    let fault = Sample { cause: cause(), ..sample("cannot read it: disk on fire") };
    assert_eq!(render(&fault), "error[E2004]: cannot read it: disk on fire\n");
}

#[test]
fn carets_stand_under_wide_letters_tabs_and_beyond_the_end() {
    for (source, column, length, shown, carets) in [
        ("名: 数据", 4, 2, "名: 数据", "    ^^^^"),
        ("\tx: 1", 2, 1, "    x: 1", "    ^"),
        ("name:", 6, 1, "name:", "     ^"),
        ("name:", 99, 7, "name:", "     ^"),
        ("a\u{1b}b", 3, 1, "a\\u{1b}b", "       ^"),
    ] {
        let text = render(&Sample { snippets: vec![snippet(source, column, length, "")], ..sample("m") });
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[3], format!("12 | {shown}"));
        assert_eq!(lines[4], format!("   | {carets}"));
    }
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let source = format!("{}bad{}", "x".repeat(500), "y".repeat(500));
    let text = render(&Sample { snippets: vec![snippet(&source, 501, 3, "here")], ..sample("m") });
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[3].len() <= 105, "{}", lines[3]);
    let caret = lines[4].find('^').expect("a caret");
    assert_eq!(&lines[3][caret..caret + 3], "bad");
}

#[test]
fn nothing_from_outside_reaches_the_terminal_raw() {
    let fault = Sample {
        details: vec!["\u{1b}[31mred\u{1b}[0m log\r".into()],
        hints: vec!["x\u{7}".into()],
        ..sample("a\u{1b}]0;title\u{7}")
    };
    assert_eq!(render(&fault), "error[E2004]: a\\u{1b}]0;title\\u{7}\n  red log\nhelp: x\\u{7}\n");
}

#[test]
fn colours_appear_only_where_wanted() {
    let fault = Sample { hints: vec!["h".into()], ..sample("m") };
    assert!(!render(&fault).contains('\u{1b}'));
    assert!(text(&fault, Paint::new(true)).starts_with("\u{1b}[1;31merror[E2004]\u{1b}[0m: "));
}

#[test]
fn the_json_object_holds_the_same() {
    let fault = Sample {
        snippets: vec![snippet("a: b", 2, 1, "")],
        hints: vec!["h".into()],
        others: vec![sample("second")],
        ..sample("first")
    };
    assert_eq!(
        serde_json::to_value(ErrorObject::new(&fault)).expect("json"),
        serde_json::json!({
            "code": "E2004", "message": "first", "file": "./t/template.yaml", "line": 12, "column": 2,
            "help": ["h"], "details": [],
            "others": [{
                "code": "E2004", "message": "second", "file": null, "line": null, "column": null,
                "help": [], "details": [],
            }],
        })
    );
}
