//! The password that an administrator sets for a user.

use std::io::{self, IsTerminal};

use keyward_domain::ports::StorageError;
use keyward_domain::random::Random;
use keyward_domain::sign_in::password::Password;
use keyward_domain::user::Username;

use super::Failure;
use crate::options::PasswordOptions;
use crate::output;
use crate::secret::Secret;
use crate::standard_input::{self, StandardInputError};

/// A password that follows the rules, and the line to print if it was generated.
pub(crate) struct NewPassword {
    pub(crate) password: Password,
    pub(crate) generated: Option<GeneratedPassword>,
}

/// A generated password, to be printed once its account has it.
pub(crate) struct GeneratedPassword {
    username: Username,
    line: Secret,
}

impl NewPassword {
    /// Reads the password from standard input or makes one, as the options say. `names` are those of its user
    /// and their organization.
    pub(crate) fn obtain(
        options: &PasswordOptions,
        username: &Username,
        names: &[&str],
        random: &dyn Random,
    ) -> Result<Self, Failure> {
        if options.generate_password {
            let password = Password::generate(random);
            let generated = GeneratedPassword {
                username: username.clone(),
                line: Secret::new(format!("{}\n", password.expose())),
            };
            return Ok(Self {
                password,
                generated: Some(generated),
            });
        }
        let input = io::stdin().lock();
        if input.is_terminal() {
            return Err(StandardInputError::Terminal.into());
        }
        let typed = standard_input::only_line(input)?;
        let password = Password::choose(typed.expose(), username, names).map_err(Failure::WeakPassword)?;
        Ok(Self {
            password,
            generated: None,
        })
    }
}

impl NewPassword {
    /// The failure of the change that sets the password. If its outcome is unknown, a generated password is
    /// lost.
    pub(crate) fn failure(generated: Option<&GeneratedPassword>, error: StorageError) -> Failure {
        match (generated, error) {
            (Some(generated), StorageError::OutcomeUnknown(source)) => Failure::PasswordUnknown {
                username: generated.username.clone(),
                source,
            },
            (_, error) => Failure::Storage(error),
        }
    }
}

impl GeneratedPassword {
    /// Prints it on standard output, alone on its line.
    pub(crate) fn print(&self) -> Result<(), Failure> {
        output::answer(self.line.expose()).map_err(|source| Failure::PasswordNotShown {
            username: self.username.clone(),
            source,
        })
    }
}
