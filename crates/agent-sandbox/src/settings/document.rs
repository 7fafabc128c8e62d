//! `config.toml`: read with places, edited so that comments and order stay.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use toml_edit::{Document, DocumentMut, Item, Table, TableLike};

use super::error::snippet;
use super::key::Named;
use super::secrets::SECRETS;
use super::value::Value;
use super::{Settings, SettingsError};

/// A settings file has no reason to be larger.
const FILE_CAP: u64 = 1 << 20;

/// The text of the file; `None` where there is none.
pub(crate) fn read(file: &Path) -> Result<Option<String>, SettingsError> {
    let text = std::fs::metadata(file).and_then(|metadata| {
        // It would be waited for when it is opened.
        if metadata.file_type().is_fifo() {
            return Err(io::Error::other("it is no file"));
        }
        if metadata.len() > FILE_CAP {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        std::fs::read(file)
    });
    match text {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(SettingsError::NotText { path: file.to_owned() }),
        },
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(SettingsError::io("read", file)(error)),
    }
}

/// Puts all that the text says into `settings`; returns the keys it says something of.
pub(crate) fn apply(text: &str, file: &Path, settings: &mut Settings) -> Result<Vec<Named>, SettingsError> {
    let document = Document::parse(text).map_err(|error| syntax(text, file, &error))?;
    let mut leaves = Vec::new();
    collect(document.as_table(), &mut Vec::new(), &mut leaves);
    let mut said = Vec::new();
    for Leaf { path, span, item } in leaves {
        let place = || snippet(file, text, span.clone());
        let Some(named) = Named::at(&path) else {
            return Err(match SECRETS.iter().find(|secret| path == [secret.name]) {
                Some(secret) => SettingsError::SecretInFile { name: secret.name, place: place() },
                None => SettingsError::unknown(&path.join("."), Some(place())),
            });
        };
        let written = written(item);
        let value = named.key.kind.read(&written).map_err(|expected| SettingsError::Value {
            name: named.to_string(),
            value: written,
            expected,
            place: Some(snippet(file, text, item.span().unwrap_or(span.clone()))),
        })?;
        named.key.put(settings, &named.host, value);
        said.push(named);
    }
    Ok(said)
}

/// A key with a value.
struct Leaf<'d> {
    path: Vec<String>,
    /// Of the key.
    span: std::ops::Range<usize>,
    item: &'d Item,
}

fn collect<'d>(table: &'d dyn TableLike, path: &mut Vec<String>, leaves: &mut Vec<Leaf<'d>>) {
    for (name, item) in table.iter() {
        path.push(name.to_owned());
        match item.as_table_like() {
            Some(table) => collect(table, path, leaves),
            None => {
                let span = table.get_key_value(name).and_then(|(key, _)| key.span()).unwrap_or_default();
                leaves.push(Leaf { path: path.clone(), span, item });
            }
        }
        path.pop();
    }
}

/// What stands there, without quotes.
fn written(item: &Item) -> String {
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => text.value().clone(),
        Some(value) => value.clone().decorated("", "").to_string(),
        None => String::new(),
    }
}

fn syntax(text: &str, file: &Path, error: &toml_edit::TomlError) -> SettingsError {
    let message = error.message().lines().next().unwrap_or_default().to_owned();
    let end = text.len();
    SettingsError::Syntax { message, place: snippet(file, text, error.span().unwrap_or(end..end)) }
}

/// The text with the key set; nothing else of it changes.
pub(crate) fn set(text: &str, file: &Path, named: &Named, value: &Value) -> Result<String, SettingsError> {
    let mut document = editable(text, file)?;
    let path = named.path();
    let Some((leaf, parents)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, parent) in parents.iter().enumerate() {
        let mut missing = Table::new();
        // `[registry."h"]` needs no `[registry]` above it.
        missing.set_implicit(depth + 1 < parents.len());
        let item = table.entry(parent).or_insert(Item::Table(missing));
        if !item.is_table_like() {
            *item = Item::Table(Table::new());
        }
        let Some(next) = item.as_table_like_mut() else { return Ok(text.to_owned()) };
        table = next;
    }
    let mut new = match value {
        Value::Text(text) => toml_edit::Value::from(text.as_str()),
        Value::Flag(flag) => toml_edit::Value::from(*flag),
        Value::Whole(number) => toml_edit::Value::from(i64::try_from(*number).unwrap_or(i64::MAX)),
        Value::Decimal(number) if number.fract() == 0.0 => toml_edit::Value::from(*number as i64),
        Value::Decimal(number) => toml_edit::Value::from(*number),
    };
    match table.get_mut(leaf) {
        Some(old) => {
            if let Some(decor) = old.as_value().map(|value| value.decor().clone()) {
                *new.decor_mut() = decor;
            }
            *old = Item::Value(new);
        }
        None => {
            table.insert(leaf, Item::Value(new));
        }
    }
    Ok(document.to_string())
}

/// The text without what stands at the path, and whether it stood there. Tables that become empty go too.
pub(crate) fn unset(text: &str, file: &Path, path: &[String]) -> Result<(String, bool), SettingsError> {
    let mut document = editable(text, file)?;
    let was_there = remove(document.as_table_mut(), path);
    Ok((document.to_string(), was_there))
}

fn remove(table: &mut dyn TableLike, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    if rest.is_empty() {
        let above = above(table, first);
        let next = table.iter().map(|(name, _)| name.to_owned()).skip_while(|name| name != first).nth(1);
        let was_there = table.remove(first).is_some();
        if let (Some(above), Some(next)) = (above, next) {
            move_above(table, &next, &above);
        }
        return was_there;
    }
    let Some(below) = table.get_mut(first).and_then(Item::as_table_like_mut) else { return false };
    let was_there = remove(below, rest);
    if was_there && below.is_empty() {
        table.remove(first);
    }
    was_there
}

/// What stands above a key and is not about it: all up to a blank line.
fn above(table: &dyn TableLike, name: &str) -> Option<String> {
    let text = table.key(name)?.leaf_decor().prefix()?.as_str()?;
    Some(text[..text.rfind("\n\n")? + 2].to_owned())
}

/// Puts text above a key or a table.
fn move_above(table: &mut dyn TableLike, name: &str, text: &str) {
    let prefixed = |decor: &mut toml_edit::Decor| {
        let old = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let new = format!("{text}{}", old.strip_prefix('\n').unwrap_or(old));
        decor.set_prefix(new);
    };
    if let Some(table) = table.get_mut(name).and_then(Item::as_table_mut) {
        prefixed(table.decor_mut());
    } else if let Some(mut key) = table.key_mut(name) {
        prefixed(key.leaf_decor_mut());
    }
}

fn editable(text: &str, file: &Path) -> Result<DocumentMut, SettingsError> {
    text.parse().map_err(|error| syntax(text, file, &error))
}
