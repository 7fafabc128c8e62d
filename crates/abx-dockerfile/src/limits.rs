//! Bounds that keep work proportional to the file, whatever it says.

/// Bytes of a file.
pub const FILE_BYTES: usize = 16 << 20;
/// Faults of one file that are reported, and as many warnings.
pub const REPORTED: usize = 100;
/// Braces within braces in a word, `${a:-${b:-…}}`.
pub const NESTING: usize = 64;
/// Bytes of a word after expansion.
pub const WORD_BYTES: usize = 1 << 20;
/// Pieces of a pattern times letters of the value it is matched with.
pub const PATTERN_STEPS: usize = 1 << 24;
/// Ties between stages, counted once for each instruction that makes one and once for each stage that inherits
/// it by a trigger.
pub const TIES: usize = 1 << 20;
/// Bytes that all words of a stage may come to, those it inherits counted again: variables that double
/// themselves end here.
pub const STAGE_BYTES: usize = 64 << 20;
