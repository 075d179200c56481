//! `/setup`: the first run, from the one-time link.

use askama::Template;
use keyward_domain::organization::OrganizationName;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::setup::{CompleteSetupError, SetupChoices, SetupToken};
use keyward_domain::sign_in::signing_in::SignInAttempt;
use poem::http::StatusCode;
use poem::{Request, Response, handler};

use crate::answer::{html, redirect};
use crate::cookies::SETUP_LINK;
use crate::flash::Message;
use crate::forms::{Fields, Query, Sent, VisitorForm};
use crate::pages::field::{Field, focus_first_error};
use crate::pages::newcomer_fields::NewcomerFields;
use crate::pages::sign_in::{sign_in_newcomer, user_agent};
use crate::paths;
use crate::reader::{Visit, Visitor};
use crate::refusal::Refusal;

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
#[template(path = "setup_link_invalid.html")]
struct InvalidLinkPage<'a> {
    already_set_up: bool,
    setup_command: &'a str,
}

#[handler]
pub(crate) async fn show(
    visitor: Visitor,
    request: &Request,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let public_url = &visitor.console.public_url;
    match query.optional("token").map(SetupToken::parse) {
        Some(Some(token)) => {
            let mut response = redirect(paths::Setup);
            SETUP_LINK.set(&mut response, public_url, token.expose());
            return Ok(response);
        }
        Some(None) => return Ok(visitor.redirect(paths::Setup, Message::LinkDamaged)),
        None => {}
    }
    let token = SETUP_LINK.read(request.headers(), public_url);
    match token.filter(|_| !visitor.has_flash(Message::LinkDamaged)) {
        Some(token) if visitor.console.setup.link_works(&token).await? => {
            let mut page = SetupPage::empty(&token);
            page.organization.focused = true;
            visitor.page(&page)
        }
        Some(_) | None => Ok(visitor.without_flash(invalid_link(
            &visitor,
            visitor.console.setup.is_complete().await?,
        )?)),
    }
}

#[handler]
pub(crate) async fn complete(
    Sent(visitor, form, source): VisitorForm,
    request: &Request,
) -> Result<Response, Refusal> {
    let setup = &visitor.console.setup;
    let Some(token) = SetupToken::parse(form.required("token")?) else {
        return invalid_link(&visitor, setup.is_complete().await?);
    };
    let password = form.required("password")?;
    let mut page = SetupPage::filled_in(&token, &form)?;
    let Some(choices) = page.choices(password) else {
        page.has_errors = true;
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    let username = choices.owner.username.clone();
    match setup.complete(&token, choices, source.clone()).await {
        Ok(_) => {
            let attempt = SignInAttempt {
                user_agent: user_agent(request),
                username: username.as_str(),
                password: Password::attempt(password),
                previous: None,
                browser: None,
                source,
            };
            let next = redirect(paths::Home);
            let response = sign_in_newcomer(&visitor, attempt, next, Message::SetUp).await;
            Ok(forgetting(&visitor, response))
        }
        Err(CompleteSetupError::LinkInvalid) => invalid_link(&visitor, false),
        Err(CompleteSetupError::AlreadySetUp) => invalid_link(&visitor, true),
        Err(error) => Err(error.into()),
    }
}

/// The link is used.
fn forgetting(visit: &Visit, mut response: Response) -> Response {
    SETUP_LINK.remove(&mut response, &visit.console.public_url);
    response
}

fn invalid_link(visit: &Visit, already_set_up: bool) -> Result<Response, Refusal> {
    let status = if already_set_up {
        StatusCode::GONE
    } else {
        StatusCode::NOT_FOUND
    };
    let page = InvalidLinkPage {
        already_set_up,
        setup_command: &visit.console.setup_command,
    };
    Ok(html(status, &page)?)
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

    /// The values, if all are valid; else the fields get errors.
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
        Some(SetupChoices {
            organization: organization?,
            owner: owner?,
        })
    }
}
