//! How results look: the printer that owns stdout and stderr, tables, and amounts in words.

pub(crate) mod human;
mod paint;
mod printer;
mod table;

pub(crate) use paint::Paint;
pub(crate) use printer::{Printer, PrinterOptions};
pub(crate) use table::Table;
