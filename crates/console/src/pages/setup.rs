//! `/setup`: the first run, from the one-time link.

use std::sync::Arc;

use askama::Template;
use keyward_domain::audit::RequestSource;
use keyward_domain::organization::OrganizationName;
use keyward_domain::sign_in::password::{Password, WeakPassword};
use keyward_domain::sign_in::session::{SignInAttempt, SignInError};
use keyward_domain::sign_in::setup::{CompleteSetupError, SetupChoices, SetupToken};
use keyward_domain::user::{DisplayName, Username};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Response, handler};

use crate::forms::{Fields, Form, Query};
use crate::links::SignInNotice;
use crate::pages::field::{Field, focus_first_error};
use crate::pages::sign_in::with_session;
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::session_cookie::SessionCookie;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "setup.html")]
struct SetupPage {
    token: String,
    organization: Field,
    display_name: Field,
    username: Field,
    password: Field,
    has_errors: bool,
}

/// The link cannot be used.
#[derive(Template)]
#[template(path = "setup_link_dead.html")]
struct LinkDead {
    already_set_up: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let token = query.optional("token").and_then(SetupToken::parse);
    match token {
        Some(token) if console.setup.link_works(&token).await? => {
            let mut page = SetupPage::empty(&token);
            page.organization.focused = true;
            html(StatusCode::OK, &page)
        }
        Some(_) | None => dead_link(console.setup.is_complete().await?),
    }
}

#[handler]
pub(crate) async fn complete(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    Form(form): Form,
) -> Result<Response, Refusal> {
    let Some(token) = SetupToken::parse(form.required("token")?) else {
        return dead_link(console.setup.is_complete().await?);
    };
    let password = form.required("password")?;
    let mut page = SetupPage::filled_in(&token, &form)?;
    let Some(choices) = page.choices(password) else {
        page.has_errors = true;
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let username = choices.username.clone();
    match console.setup.complete(&token, choices, source.clone()).await {
        Ok(_) => sign_owner_in(console, &username, password, source).await,
        Err(CompleteSetupError::LinkInvalid) => dead_link(false),
        Err(CompleteSetupError::AlreadySetUp) => dead_link(true),
        Err(CompleteSetupError::Hashing(error)) => Err(error.into()),
        Err(CompleteSetupError::Storage(error)) => Err(error.into()),
    }
}

/// Nobody else can have chosen another password since, but an attempt may be refused for now: then they sign in
/// themselves.
async fn sign_owner_in(
    console: &Console,
    username: &Username,
    password: &str,
    source: RequestSource,
) -> Result<Response, Refusal> {
    let attempt = SignInAttempt {
        username: username.as_str(),
        password: Password::attempt(password),
        previous: None,
        source,
    };
    match console.sign_in.sign_in(attempt).await {
        Ok(token) => {
            let cookie = SessionCookie::of(&console.public_url);
            Ok(with_session(redirect(links::HOME), cookie, &token))
        }
        Err(
            SignInError::WrongCredentials
            | SignInError::Throttled(_)
            | SignInError::Hashing(_)
            | SignInError::Storage(_),
        ) => Ok(redirect(&links::sign_in(None, Some(SignInNotice::SetUp)))),
    }
}

fn dead_link(already_set_up: bool) -> Result<Response, Refusal> {
    let status = if already_set_up {
        StatusCode::GONE
    } else {
        StatusCode::NOT_FOUND
    };
    html(status, &LinkDead { already_set_up })
}

impl SetupPage {
    fn empty(token: &SetupToken) -> Self {
        Self {
            token: token.expose().to_owned(),
            organization: Field::default(),
            display_name: Field::default(),
            username: Field::default(),
            password: Field::default(),
            has_errors: false,
        }
    }

    fn filled_in(token: &SetupToken, form: &Fields) -> Result<Self, Refusal> {
        Ok(Self {
            organization: Field::with_value(form.required("organization")?),
            display_name: Field::with_value(form.required("display_name")?),
            username: Field::with_value(form.required("username")?),
            ..Self::empty(token)
        })
    }

    /// What was chosen; if something is wrong with it, the fields say so.
    fn choices(&mut self, typed_password: &str) -> Option<SetupChoices> {
        let organization = OrganizationName::parse(&self.organization.value);
        let organization = self.organization.check("Organization name", organization);
        let display_name = DisplayName::parse(&self.display_name.value);
        let display_name = self.display_name.check("Your name", display_name);
        let username = Username::parse(self.username.value.trim());
        let username = self.username.check("Username", username);
        // A password is judged together with the username; while that is wrong, only its length can be.
        let password = match &username {
            Some(username) => Password::choose(typed_password, username).map(Some),
            None if typed_password.chars().count() < Password::MIN => Err(WeakPassword::TooShort),
            None => Ok(None),
        };
        let password = self.password.check("Password", password).flatten();
        focus_first_error(&mut [
            &mut self.organization,
            &mut self.display_name,
            &mut self.username,
            &mut self.password,
        ]);
        Some(SetupChoices {
            organization: organization?,
            username: username?,
            display_name: display_name?,
            password: password?,
        })
    }
}
