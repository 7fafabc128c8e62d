//! Aligned columns.

use unicode_width::UnicodeWidthStr;

use crate::report::plain;

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

    /// Adds a row; it has as many cells as the header.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| plain(&cell)).to_vec());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let header = Some(&self.header).filter(|header| !header.is_empty());
        let lines: Vec<&Vec<String>> = header.into_iter().chain(&self.rows).collect();
        let columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.width()).max())
            .map(Option::unwrap_or_default)
            .collect();
        for line in lines {
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
        assert_eq!(
            table.to_string(),
            "ID      NAME  TEMPLATE\n\
             abc     数据  base\n\
             abcdef        \\u{1b}[31mred\n"
        );
    }

    #[test]
    fn fields_have_no_header() {
        let mut table = Table::of_fields();
        table.row(["id".into(), "x".into()]);
        table.row(["template".into(), "y".into()]);
        assert_eq!(table.to_string(), "id        x\ntemplate  y\n");
    }
}
