//! The binary.

mod clock;
mod commands;
mod database_url;
mod logging;
mod options;
mod output;
mod password_hasher;
mod random;
mod secret;
mod standard_input;

use std::process::ExitCode;

use commands::Failure;
use options::{Command, CommandLine, TokenCommand};

fn main() -> ExitCode {
    let command_line = match CommandLine::read(std::env::args_os()) {
        Ok(command_line) => command_line,
        Err(error) => error.exit(),
    };
    run(command_line.command).unwrap_or_else(|failure| {
        output::tell(&format!("error: {failure}"));
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Token(TokenCommand::Check) => commands::token_check::run(),
        _ => Ok(ExitCode::SUCCESS),
    }
}
