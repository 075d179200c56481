//! Measures how fast the server is, in comparison with the best possible.

use crate::binaries;
use crate::command::run;
use crate::failure::{Failure, Outcome};
use crate::load::under_load;
use crate::workspace::Workspace;
use crate::{released, tools};

/// `cargo xtask bench`: builds the server and its references, and runs the program in `tests/bench` with
/// `arguments`.
pub(crate) fn bench(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (profile, arguments) = take_profile(arguments)?;
    tools::ensure(
        workspace,
        &[tools::POSTGRESQL, tools::PGBENCH, tools::WRK, tools::NGINX],
    )?;
    let keyward = match profile {
        None => released::keyward(workspace)?,
        Some(profile) => binaries::keyward_of(workspace, profile)?,
    };
    let keyward = binaries::copy(&keyward, &workspace.target().join("keyward-measured"))?;
    let bare_handler = binaries::bare_handler(workspace, profile.unwrap_or("release"))?;
    under_load(workspace, &keyward, &bare_handler, arguments, run)
}

/// Splits a leading `--profile PROFILE` off; without one, the program of a release is measured.
fn take_profile(arguments: &[String]) -> Outcome<(Option<&str>, &[String])> {
    match arguments {
        [option, profile, rest @ ..] if option == "--profile" => Ok((Some(profile), rest)),
        [option] if option == "--profile" => Err(Failure::new("--profile needs a value: release or faults")),
        rest => Ok((None, rest)),
    }
}
