//! Texts that no log shows, such as the database's URL with its password.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

/// A text that is wiped from memory when dropped, and whose `Debug` output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes a secret in.
    pub(crate) fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The secret itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// Never fails, so that no complaint about an option shows the value; who uses the secret reads it.
impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_secret() {
        let secret = Secret::new("postgres://me:s3cret@host/db".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret(redacted)");
        assert_eq!(secret.expose(), "postgres://me:s3cret@host/db");
    }
}
