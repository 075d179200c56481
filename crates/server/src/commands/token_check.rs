//! `keyward token check`: whether a text can be a token.

use std::process::ExitCode;

use keyward_domain::token::{MalformedToken, Token};

use super::Failure;
use crate::output;
use crate::standard_input;

/// Reads a line from standard input and says whether it can be a token; never the token itself.
pub(crate) fn run() -> Result<ExitCode, Failure> {
    let line = standard_input::piped_or_typed_line()?;
    let verdict = Token::parse(line.expose()).map(drop);
    output::answer(&sentence(verdict))?;
    Ok(if verdict.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn sentence(verdict: Result<(), MalformedToken>) -> String {
    match verdict {
        Ok(()) => {
            "shape and checksum hold: it can be a token; only the server knows whether its key exists and is valid\n"
                .to_owned()
        }
        Err(reason) => format!("{reason}\n"),
    }
}
