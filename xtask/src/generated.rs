//! Files that are generated and checked in.

use std::fs;
use std::io::ErrorKind;

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// How many lines around the first difference are shown.
const SHOWN_LINES: usize = 5;

/// Whether a generated file is written or only compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

impl Mode {
    pub(crate) fn parse(arguments: &[String]) -> Outcome<Self> {
        match arguments
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice()
        {
            [] => Ok(Self::Write),
            ["--check"] => Ok(Self::Check),
            _ => Err(Failure::new("the only option is --check")),
        }
    }
}

/// Writes `text` to the file, or fails when the file holds something else. `task` is what generates it.
pub(crate) fn settle(workspace: &Workspace, file: &str, task: &str, text: &str, mode: Mode) -> Outcome {
    if text.is_empty() {
        return Err(Failure::new(format!(
            "`cargo xtask {task}` generated nothing for {file}"
        )));
    }
    let path = workspace.root().join(file);
    let present = match fs::read_to_string(&path) {
        Ok(present) => present,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::about(file)(error)),
    };
    if present == text {
        eprintln!("{file} is up to date");
        return Ok(());
    }
    match mode {
        Mode::Check => Err(Failure::new(format!(
            "{file} is not what `cargo xtask {task}` generates; run that and commit the result.\n{}",
            first_difference(&present, text)
        ))),
        Mode::Write => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(Failure::about(file))?;
            }
            fs::write(&path, text).map_err(Failure::about(file))?;
            eprintln!("{file} written");
            Ok(())
        }
    }
}

/// The first lines that differ, those of the file with `-` and the generated ones with `+`.
fn first_difference(present: &str, generated: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (present.lines().collect(), generated.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let shown = |sign: char, lines: &[&str]| -> String {
        lines
            .iter()
            .skip(same)
            .take(SHOWN_LINES)
            .map(|line| format!("{sign} {line}\n"))
            .collect()
    };
    let (removed, added) = (shown('-', &old), shown('+', &new));
    if removed.is_empty() && added.is_empty() {
        return "They differ only in how lines end.".to_owned();
    }
    format!("First difference, at line {}:\n{removed}{added}", same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_differing_line_is_shown_from_both() {
        let difference = first_difference("same\nold\nend\n", "same\nnew\nend\n");
        assert_eq!(
            difference,
            "First difference, at line 2:\n- old\n- end\n+ new\n+ end\n"
        );
    }

    #[test]
    fn missing_file_differs_at_its_first_line() {
        assert_eq!(first_difference("", "a\n"), "First difference, at line 1:\n+ a\n");
    }

    #[test]
    fn missing_final_line_feed_is_a_difference() {
        assert_eq!(first_difference("a", "a\n"), "They differ only in how lines end.");
    }

    #[test]
    fn check_is_the_only_option() {
        assert_eq!(Mode::parse(&[]).unwrap(), Mode::Write);
        assert_eq!(Mode::parse(&["--check".to_owned()]).unwrap(), Mode::Check);
        assert!(Mode::parse(&["--chek".to_owned()]).is_err());
    }
}
