//! Runs other programs, showing each command line.

use std::env;
use std::process::{Command, Output, Stdio};

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// The cargo that runs this task.
pub(crate) fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace.root());
    command
}

/// Runs the command on this terminal.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = command_line(command);
    eprintln!("$ {line}");
    let status = command.status().map_err(Failure::about(&line))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{line}` failed: {status}")))
    }
}

/// Runs the command and returns its standard output; its standard error goes to this terminal.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let line = command_line(command);
    eprintln!("$ {line}");
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(Failure::about(&line))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{line}` failed: {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(Failure::about(&line))
}

/// Runs the command; its output is shown only if it fails.
pub(crate) fn run_quietly(command: &mut Command) -> Outcome {
    let line = command_line(command);
    let output = quietly(command)?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Err(Failure::new(format!("`{line}` failed: {}", output.status)))
}

/// Runs the command and answers all that it said, however it ended.
pub(crate) fn quietly(command: &mut Command) -> Outcome<Output> {
    let line = command_line(command);
    eprintln!("$ {line}");
    command.output().map_err(Failure::about(&line))
}

/// The command roughly as it would be typed: the program's name and its arguments.
pub(crate) fn command_line(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let program = program.rsplit('/').next().unwrap_or_default();
    let arguments = command.get_args().map(|argument| {
        let argument = argument.to_string_lossy();
        if argument.contains(' ') {
            format!("'{argument}'")
        } else {
            argument.into_owned()
        }
    });
    std::iter::once(program.to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_printed_as_typed() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["nextest", "run", "-E", "package(a) | package(b)"]);
        assert_eq!(
            command_line(&command),
            "cargo nextest run -E 'package(a) | package(b)'"
        );
    }
}
