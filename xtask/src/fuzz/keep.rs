//! Which of the inputs that were found are worth keeping.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Inputs that are kept of a target, those that people have put there included: a corpus that is replayed with the
/// tests stays small.
const FILES: usize = 24;

/// An input, and what it reaches.
#[derive(Debug, PartialEq, Eq)]
struct Input {
    path: PathBuf,
    features: HashSet<u64>,
}

/// Copies to `kept` the inputs that reach most of what nothing there reaches. `control` is what libFuzzer writes while
/// it merges.
pub(super) fn best(control: &Path, kept: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(control).map_err(Failure::file(control))?;
    let inputs =
        read(&text).ok_or_else(|| Failure::unexpected(control.display().to_string(), "another form"))?;
    let (own, mut others): (Vec<_>, Vec<_>) =
        inputs.into_iter().partition(|input| input.path.starts_with(kept));
    let room = FILES.saturating_sub(own.len());
    let mut reached: HashSet<u64> = own.into_iter().flat_map(|input| input.features).collect();
    for _ in 0..room {
        let gain = |input: &Input| input.features.difference(&reached).count();
        let best = others.iter().enumerate().max_by_key(|(_, input)| gain(input));
        let Some(best) = best.filter(|(_, input)| gain(input) > 0).map(|(index, _)| index) else { break };
        let best = others.swap_remove(best);
        let target = kept.join(best.path.file_name().unwrap_or_default());
        fs::copy(&best.path, &target).map_err(Failure::file(&best.path))?;
        reached.extend(best.features);
    }
    Ok(())
}

/// The number of files, the number of those in the first folder, their names; then `FT <file> <feature>…` and other
/// lines. An input that took too long has no such line.
fn read(text: &str) -> Option<Vec<Input>> {
    let mut lines = text.lines();
    let count: usize = lines.next()?.parse().ok()?;
    lines.next()?;
    let names = lines.by_ref().take(count);
    let mut inputs: Vec<_> =
        names.map(|name| Input { path: name.into(), features: HashSet::new() }).collect();
    for line in lines {
        let Some(numbers) = line.strip_prefix("FT ") else { continue };
        let mut numbers = numbers.split(' ').filter_map(|word| word.parse::<u64>().ok());
        let input = usize::try_from(numbers.next()?).ok()?;
        inputs.get_mut(input)?.features.extend(numbers);
    }
    Some(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_most_is_kept() {
        let folder = std::env::temp_dir().join(format!("xtask-keep-{}", std::process::id()));
        let (kept, found) = (folder.join("kept"), folder.join("found"));
        for path in [&kept, &found] {
            fs::create_dir_all(path).expect("made");
        }
        for name in ["a", "b", "c"] {
            fs::write(found.join(name), name).expect("written");
        }
        let (own, all) = (kept.display(), found.display());
        let control = folder.join("control");
        let text = format!(
            "4\n0\n{own}/seed\n{all}/a\n{all}/b\n{all}/c\nSTARTED 0 1\nFT 0 1 2\nCOV 0 1\nSTARTED 1 1\nFT 1 1 2\n\
             STARTED 2 1\nFT 2 1 3 4\nSTARTED 3 1\nFT 3 4\n"
        );
        fs::write(&control, text).expect("written");
        best(&control, &kept).expect("chosen");
        let names: Vec<_> = fs::read_dir(&kept).expect("read").flatten().map(|it| it.file_name()).collect();
        assert_eq!(names, ["b"]);
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(read("x"), None);
    }
}
