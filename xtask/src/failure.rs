//! Why a task failed, in words for the person who ran it.

use std::fmt;

/// A message that says what went wrong and, where it helps, what to do.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// The result of a task or of one of its steps.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// For `map_err`: the error after the name of its subject.
    pub(crate) fn about<E: fmt::Display>(subject: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Self(format!("{subject}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
