//! Arguments that a task takes none of.

use crate::failure::{Failure, Outcome};

pub(crate) fn refuse_arguments(arguments: &[String]) -> Outcome {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(Failure::new(format!(
            "unknown argument {argument:?}; see `cargo xtask help`"
        ))),
    }
}
