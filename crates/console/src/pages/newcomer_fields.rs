//! The fields of forms that create an account.

use keyward_domain::rate::Throttled;
use keyward_domain::sign_in::joining::NewcomerChoices;
use keyward_domain::sign_in::password::{Password, WeakPassword};
use keyward_domain::user::{DisplayName, Username};

use crate::forms::Fields;
use crate::pages::field::{Field, focus_first_error};
use crate::refusal::Refusal;

/// The values and errors of the fields. The password is not shown again.
#[derive(Debug, Default)]
pub(super) struct NewcomerFields {
    pub(super) display_name: Field,
    pub(super) username: Field,
    pub(super) password: Field,
    pub(super) has_errors: bool,
}

impl NewcomerFields {
    pub(super) fn filled_in(form: &Fields) -> Result<Self, Refusal> {
        Ok(Self {
            display_name: Field::with_value(form.required("display_name")?),
            username: Field::with_value(form.required("username")?),
            ..Self::default()
        })
    }

    /// The values, if all are valid; else the fields get errors. The password must not be made from these names of the
    /// organization.
    pub(super) fn choices(&mut self, typed_password: &str, organization: &[&str]) -> Option<NewcomerChoices> {
        let display_name = DisplayName::parse(&self.display_name.value);
        let display_name = self.display_name.check("Your name", display_name);
        let username = Username::parse(self.username.value.trim());
        let username = self.username.check("Username", username);
        let own_name = display_name.as_ref().map(DisplayName::as_str);
        let names: Vec<&str> = organization.iter().copied().chain(own_name).collect();
        // A password is judged together with the username; while that is wrong, only its length can be.
        let password = match &username {
            Some(username) => Password::choose(typed_password, username, &names).map(Some),
            None if typed_password.chars().count() < Password::MIN => Err(WeakPassword::TooShort),
            None => Ok(None),
        };
        let password = self.password.check("Password", password).flatten();
        let choices = match (display_name, username, password) {
            (Some(display_name), Some(username), Some(password)) => Some(NewcomerChoices {
                username,
                display_name,
                password,
            }),
            (_, _, _) => None,
        };
        self.has_errors = choices.is_none();
        choices
    }

    /// Puts the cursor into the first field that has an error, or else into the first.
    pub(super) fn focus(&mut self) {
        focus_first_error(&mut [&mut self.display_name, &mut self.username, &mut self.password]);
    }

    /// Too many usernames were tried from this address.
    pub(super) fn set_throttled(&mut self, throttled: Throttled) {
        self.username.set_throttled(throttled);
        self.has_errors = true;
    }

    /// The username may be another user's or the reader's own, who then needs no new account.
    pub(super) fn set_username_taken(&mut self) {
        self.username.error =
            Some("This username is taken. Choose another, or sign in above if it is yours.".to_owned());
        self.has_errors = true;
    }
}
