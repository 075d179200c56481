//! One module per command.

pub(crate) mod token_check;

mod failure;

pub(crate) use failure::Failure;
