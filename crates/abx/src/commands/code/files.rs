//! Results that text cannot show: saved to files.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agent_sandbox::code::CodeResult;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{EdgeError, Failure};

/// Saves a result's forms under one free name and returns the files: pictures, and those forms that its text does not
/// tell. With `all` every form.
pub(super) fn save(directory: &Path, result: &CodeResult, all: bool) -> Result<Vec<PathBuf>, Failure> {
    let forms = forms(result, all);
    let mut files = Vec::new();
    let mut number = 1;
    let mut done = 0;
    while done < forms.len() {
        let (extension, content) = &forms[done];
        let path = directory.join(format!("result-{number}.{extension}"));
        match write(&path, content) {
            Ok(()) => {
                files.push(path);
                done += 1;
            }
            // One number is for one result: begin again with the next.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                files.drain(..).for_each(|file| drop(std::fs::remove_file(file)));
                (number, done) = (number + 1, 0);
            }
            Err(source) => return Err(EdgeError::Write { path, source }.into()),
        }
    }
    Ok(files)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(content)
}

/// Whether its text is worth printing: a bare description of an object that has other forms is not.
pub(super) fn tells(result: &CodeResult) -> bool {
    let bare = |text: &String| text.starts_with('<') && text.ends_with('>') && !text.contains('\n');
    let is_picture = [&result.png, &result.jpeg, &result.svg, &result.pdf].iter().any(|form| form.is_some());
    let has_other =
        is_picture || [&result.html, &result.latex, &result.markdown].iter().any(|form| form.is_some());
    let has_other = has_other || result.json.is_some();
    result.text.as_ref().is_some_and(|text| !(has_other && bare(text)))
}

fn forms(result: &CodeResult, all: bool) -> Vec<(&'static str, Vec<u8>)> {
    let text = |form: &Option<String>| form.as_ref().map(|form| form.clone().into_bytes());
    let binary = |form: &Option<String>| form.as_ref().and_then(|form| STANDARD.decode(form).ok());
    let json =
        |form: &Option<serde_json::Value>| form.as_ref().map(|form| format!("{form:#}\n").into_bytes());
    let wanted = all || !tells(result);
    let mut forms = vec![
        ("png", binary(&result.png)),
        ("jpg", binary(&result.jpeg)),
        ("svg", text(&result.svg)),
        ("pdf", binary(&result.pdf)),
        ("html", text(&result.html).filter(|_| wanted)),
        ("tex", text(&result.latex).filter(|_| wanted)),
    ];
    if all {
        forms.extend([
            ("txt", text(&result.text)),
            ("md", text(&result.markdown)),
            ("js", text(&result.javascript)),
            ("json", json(&result.json)),
            ("data.json", json(&result.data)),
            ("chart.json", json(&result.chart)),
        ]);
    }
    forms.into_iter().filter_map(|(extension, form)| Some((extension, form?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(directory: &Path, result: &CodeResult, all: bool) -> Vec<String> {
        let files = save(directory, result, all).unwrap_or_else(|failure| panic!("{failure:?}"));
        files.iter().map(|file| file.file_name().expect("name").to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn pictures_are_saved_and_nothing_is_written_over() {
        let directory = tempfile::tempdir().expect("tempdir");
        let figure = CodeResult {
            png: Some("aGk=".into()),
            html: Some("<b>".into()),
            text: Some("<Figure size 640x480 with 1 Axes>".into()),
            ..CodeResult::default()
        };
        assert_eq!(saved(directory.path(), &figure, false), ["result-1.png", "result-1.html"]);
        assert_eq!(std::fs::read(directory.path().join("result-1.png")).expect("read"), b"hi");
        std::fs::remove_file(directory.path().join("result-1.png")).expect("remove");
        assert_eq!(saved(directory.path(), &figure, false), ["result-2.png", "result-2.html"]);
        assert_eq!(std::fs::read_dir(directory.path()).expect("list").count(), 3);
    }

    #[test]
    fn what_the_text_tells_is_saved_on_request_only() {
        let directory = tempfile::tempdir().expect("tempdir");
        let table = CodeResult {
            text: Some("   a\n0  1".into()),
            html: Some("<table>".into()),
            ..CodeResult::default()
        };
        assert!(saved(directory.path(), &table, false).is_empty());
        assert_eq!(saved(directory.path(), &table, true), ["result-1.html", "result-1.txt"]);
        let formula = CodeResult { latex: Some("$x$".into()), ..CodeResult::default() };
        assert_eq!(saved(directory.path(), &formula, false), ["result-1.tex"]);
        assert!(
            saved(
                directory.path(),
                &CodeResult { text: Some("<object>".into()), ..CodeResult::default() },
                false
            )
            .is_empty()
        );
    }
}
