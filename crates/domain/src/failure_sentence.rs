//! Errors in one sentence.

use std::error::Error;

/// Joins an error and its sources for the log, which otherwise shows only the outermost error. A source that
/// the error's own message contains is not repeated.
#[must_use]
pub fn sentence(error: &dyn Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !sentence.contains(&reason) {
            sentence.push_str(": ");
            sentence.push_str(&reason);
        }
        cause = error.source();
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Example {
        #[error("the door is shut")]
        Silent(#[source] std::io::Error),
        #[error("the door is shut: {0}")]
        Outspoken(#[source] std::io::Error),
    }

    #[test]
    fn repeated_cause_is_named_once() {
        let cause = || std::io::Error::other("no key");
        assert_eq!(sentence(&Example::Silent(cause())), "the door is shut: no key");
        assert_eq!(sentence(&Example::Outspoken(cause())), "the door is shut: no key");
    }
}
