//! `/setup`: the first run, from the one-time link.

use std::sync::Arc;

use askama::Template;
use keyward_domain::organization::OrganizationName;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::setup::{CompleteSetupError, SetupChoices, SetupToken};
use keyward_domain::sign_in::signing_in::SignInAttempt;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Request, Response, handler};

use crate::forms::{Fields, Form, Query};
use crate::links::SignInNotice;
use crate::pages::field::{Field, focus_first_error};
use crate::pages::html;
use crate::pages::newcomer_fields::NewcomerFields;
use crate::pages::sign_in::{sign_in_newcomer, user_agent};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "setup.html")]
struct SetupPage {
    token: String,
    organization: Field,
    owner: NewcomerFields,
    has_errors: bool,
}

/// The link cannot be used.
#[derive(Template)]
#[template(path = "setup_link_dead.html")]
struct LinkDead<'a> {
    already_set_up: bool,
    setup_command: &'a str,
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
        Some(_) | None => dead_link(console, console.setup.is_complete().await?),
    }
}

#[handler]
pub(crate) async fn complete(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    request: &Request,
    Form(form): Form,
) -> Result<Response, Refusal> {
    let Some(token) = SetupToken::parse(form.required("token")?) else {
        return dead_link(console, console.setup.is_complete().await?);
    };
    let password = form.required("password")?;
    let mut page = SetupPage::filled_in(&token, &form)?;
    let Some(choices) = page.choices(password) else {
        page.has_errors = true;
        return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
    };
    let username = choices.username.clone();
    match console.setup.complete(&token, choices, source.clone()).await {
        Ok(_) => {
            let attempt = SignInAttempt {
                user_agent: user_agent(request),
                username: username.as_str(),
                password: Password::attempt(password),
                previous: None,
                browser: None,
                source,
            };
            sign_in_newcomer(console, attempt, links::HOME, SignInNotice::SetUp).await
        }
        Err(CompleteSetupError::LinkInvalid) => dead_link(console, false),
        Err(CompleteSetupError::AlreadySetUp) => dead_link(console, true),
        Err(CompleteSetupError::Hashing(error)) => Err(error.into()),
        Err(CompleteSetupError::Storage(error)) => Err(error.into()),
    }
}

fn dead_link(console: &Console, already_set_up: bool) -> Result<Response, Refusal> {
    let status = if already_set_up {
        StatusCode::GONE
    } else {
        StatusCode::NOT_FOUND
    };
    let page = LinkDead {
        already_set_up,
        setup_command: &console.setup_command,
    };
    html(status, &page)
}

impl SetupPage {
    fn empty(token: &SetupToken) -> Self {
        Self {
            token: token.expose().to_owned(),
            organization: Field::default(),
            owner: NewcomerFields::default(),
            has_errors: false,
        }
    }

    fn filled_in(token: &SetupToken, form: &Fields) -> Result<Self, Refusal> {
        Ok(Self {
            organization: Field::with_value(form.required("organization")?),
            owner: NewcomerFields::filled_in(form)?,
            ..Self::empty(token)
        })
    }

    /// What was chosen; if something is wrong with it, the fields say so.
    fn choices(&mut self, typed_password: &str) -> Option<SetupChoices> {
        let organization = OrganizationName::parse(&self.organization.value);
        let organization = self.organization.check("Organization name", organization);
        let name = organization.as_ref().map(OrganizationName::as_str);
        let owner = self.owner.choices(typed_password, name.as_slice());
        focus_first_error(&mut [
            &mut self.organization,
            &mut self.owner.display_name,
            &mut self.owner.username,
            &mut self.owner.password,
        ]);
        let (organization, owner) = (organization?, owner?);
        Some(SetupChoices {
            organization,
            username: owner.username,
            display_name: owner.display_name,
            password: owner.password,
        })
    }
}
