//! Aligned columns.

use unicode_width::UnicodeWidthStr;

use crate::report::plain;
use crate::terminal;

/// No column is made narrower.
const NARROW: usize = 12;

/// Rows under a header; every cell is a line of text, control characters are shown harmless.
#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column titles.
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self { header: header.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    /// A table of names and values, without a header.
    pub(crate) fn of_fields() -> Self {
        Self { header: Vec::new(), rows: Vec::new() }
    }

    /// A table whose columns are known from data only.
    pub(crate) fn of_columns(header: Vec<String>) -> Self {
        Self { header: header.iter().map(|title| plain(title)).collect(), rows: Vec::new() }
    }

    /// Adds a row to it.
    pub(crate) fn cells(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| plain(cell)).collect());
    }

    /// Adds a row; it has as many cells as the header.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| plain(&line(&cell))).to_vec());
    }

    /// Cuts cells so that a line is a line of the terminal, where there is one. The columns named first lose first.
    pub(crate) fn fitted(self, columns: &[usize]) -> Self {
        if !terminal::stdout_is_terminal() {
            return self;
        }
        self.within(usize::from(terminal::size().columns), columns)
    }

    fn within(mut self, width: usize, columns: &[usize]) -> Self {
        for &column in columns {
            let widths = self.widths();
            let needed: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
            let Some(&own) = widths.get(column).filter(|_| needed > width) else { continue };
            let room = own.saturating_sub(needed - width).max(NARROW);
            for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
                *cell = cut(cell, room);
            }
        }
        self
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        Some(&self.header).filter(|header| !header.is_empty()).into_iter().chain(&self.rows)
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.lines().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.lines().filter_map(|line| line.get(column)).map(|cell| cell.width()).max();
        (0..columns).map(width).map(Option::unwrap_or_default).collect()
    }
}

/// The text with its line breaks and tabs as single spaces.
fn line(text: &str) -> String {
    match text.contains(['\n', '\r', '\t']) {
        true => text.split_whitespace().collect::<Vec<_>>().join(" "),
        false => text.to_owned(),
    }
}

/// At most `room` columns of a text, which ends in `…` where there was more.
fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if kept.width() >= room {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let widths = self.widths();
        for line in self.lines() {
            let mut text = String::new();
            for (cell, width) in line.iter().zip(&widths) {
                text.push_str(cell);
                text.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_align_whatever_the_script_and_nothing_trails() {
        let mut table = Table::new(["ID", "NAME", "TEMPLATE"]);
        table.row(["abc".into(), "数据".into(), "base".into()]);
        table.row(["abcdef".into(), String::new(), "\u{1b}[31mred".into()]);
        table.row(["a\tb".into(), "c\nd\n".into(), "e".into()]);
        assert_eq!(
            table.to_string(),
            "ID      NAME  TEMPLATE\n\
             abc     数据  base\n\
             abcdef        \\u{1b}[31mred\n\
             a b     c d   e\n"
        );
    }

    #[test]
    fn wide_cells_are_cut_to_the_terminal_in_the_order_given() {
        let table = || {
            let mut table = Table::new(["NAME", "TEXT", "TAGS"]);
            table.row(["a".into(), "a longer description".into(), "数据分析, 数据, 分析".into()]);
            table
        };
        let line = |width, columns: &[usize]| {
            let text = table().within(width, columns).to_string();
            text.lines().nth(1).expect("a row").to_owned()
        };
        assert_eq!(line(80, &[2, 1]), "a     a longer description  数据分析, 数据, 分析");
        assert_eq!(line(42, &[2, 1]), "a     a longer description  数据分析, 数…");
        assert_eq!(line(36, &[2, 1]), "a     a longer descript…  数据分析,…");
        assert_eq!(line(1, &[2, 1]), "a     a longer de…  数据分析,…");
    }

    #[test]
    fn fields_have_no_header() {
        let mut table = Table::of_fields();
        table.row(["id".into(), "x".into()]);
        table.row(["template".into(), "y".into()]);
        assert_eq!(table.to_string(), "id        x\ntemplate  y\n");
    }
}
