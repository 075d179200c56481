//! How they sign in, and who else tries to.

use keyward_domain::sign_in::own_account::{ChangeOwnPasswordError, NewPassword};
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::signing_in::{SignInAttempt, SignInError};

use super::Telling;
use crate::background_writer::BackgroundWriter;
use crate::demo::fill_error::FillError;

impl Telling<'_> {
    pub(super) async fn mistype_password(&self, username: &str) -> Result<(), FillError> {
        let attempt = self.attempt(username, self.password.expose(), username);
        let sign_in = self.past.use_cases.sign_in();
        let session = sign_in.sign_in(attempt).await?.session;
        let signed_in = sign_in.signed_in(&session).await?;
        let signed_in = signed_in.ok_or_else(|| FillError::Missing(format!("the session of {username}")))?;
        let mistyped = NewPassword {
            current: Password::attempt("the password of something else"),
            new: Password::attempt(self.password.expose()),
            browser: None,
        };
        let own_account = self.past.use_cases.own_account();
        let changed = own_account.change_password(&signed_in, mistyped, self.source(username));
        match changed.await {
            Ok(_) | Err(ChangeOwnPasswordError::WrongPassword) => {}
            Err(error) => return Err(error.into()),
        }
        self.past.use_cases.refusal_log().write().await?;
        Ok(())
    }

    pub(super) async fn guess_at(&self, username: &str) -> Result<(), FillError> {
        let sign_in = self.past.use_cases.sign_in();
        loop {
            let guess = self.attempt(username, "let me in, please", "a stranger");
            match sign_in.sign_in(guess).await {
                Err(SignInError::WrongCredentials) => {}
                Ok(_) | Err(SignInError::Throttled(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.past.use_cases.refusal_log().write().await?;
        Ok(())
    }

    /// An attempt to sign in, in the browser of this name.
    fn attempt<'a>(&self, username: &'a str, password: &str, browser: &str) -> SignInAttempt<'a> {
        SignInAttempt {
            user_agent: None,
            username,
            password: Password::attempt(password),
            previous: None,
            browser: None,
            source: self.source(browser),
        }
    }
}
