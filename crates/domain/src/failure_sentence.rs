//! Errors in one sentence.

use std::error::Error;

/// What went wrong, and because of what, for the log: one in JSON would tell the outermost error only. An error that names
/// its cause in its own words is not made to repeat it.
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
    fn a_cause_is_named_once() {
        let cause = || std::io::Error::other("no key");
        assert_eq!(sentence(&Example::Silent(cause())), "the door is shut: no key");
        assert_eq!(sentence(&Example::Outspoken(cause())), "the door is shut: no key");
    }
}
