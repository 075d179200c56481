//! `/sign-in`: username and password for a session.

use askama::Template;
use keyward_domain::sign_in::UserAgent;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::signing_in::{NewCookies, SignInAttempt, SignInError};
use keyward_domain::token::Token;
use poem::http::{StatusCode, header};
use poem::{Request, Response, handler};

use crate::Console;
use crate::answer::{html, redirect};
use crate::cookies;
use crate::flash::{Audience, Message};
use crate::forms::{Fields, Query, Sent, VisitorForm};
use crate::local_path::LocalPath;
use crate::pages::notice::Notice;
use crate::pages::waiting::too_many;
use crate::paths;
use crate::reader::{Visit, Visitor};
use crate::refusal::Refusal;
use crate::return_page::return_page;
use crate::wait::Wait;

#[derive(Template, Default)]
#[template(path = "sign_in.html")]
struct SignInPage {
    next: Option<LocalPath>,
    notice: Option<Notice>,
    username: String,
    error: Option<String>,
    /// How long to wait, after too many attempts.
    wait: Option<Wait>,
    /// The username or the password has to be typed anew.
    credentials_refused: bool,
}

#[handler]
pub(crate) async fn show(visitor: Visitor, Query(query): Query) -> Result<Response, Refusal> {
    let next = wanted_page(&query);
    if visitor.signed_in.is_some() {
        return Ok(redirect_to_wanted_page(next.as_ref()));
    }
    if !visitor.console.setup.is_complete().await? {
        return Ok(redirect(paths::Home));
    }
    visitor.page(&SignInPage {
        next,
        notice: Notice::at(Audience::SignIn, &visitor),
        ..SignInPage::default()
    })
}

#[handler]
pub(crate) async fn submit(
    Sent(visitor, form, source): VisitorForm,
    request: &Request,
) -> Result<Response, Refusal> {
    let console = &visitor.console;
    let next = wanted_page(&form);
    let username = form.required("username")?;
    let attempt = SignInAttempt {
        user_agent: user_agent(request),
        username,
        password: Password::attempt(form.required("password")?),
        previous: cookies::SESSION.read(request.headers(), &console.public_url),
        browser: cookies::BROWSER.read(request.headers(), &console.public_url),
        source,
    };
    let page = |error: String| SignInPage {
        next: next.clone(),
        // A token that was typed into the wrong field. No page shows it again.
        username: Some(username)
            .filter(|name| !Token::is_in(name))
            .unwrap_or_default()
            .to_owned(),
        error: Some(error),
        ..SignInPage::default()
    };
    match console.sign_in.sign_in(attempt).await {
        Ok(cookies) => Ok(with_cookies(
            redirect_to_wanted_page(next.as_ref()),
            console,
            &cookies,
        )),
        Err(error @ SignInError::WrongCredentials) => {
            let page = SignInPage {
                credentials_refused: true,
                ..page(format!("{}.", capitalized(&error.to_string())))
            };
            Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?)
        }
        Err(SignInError::Throttled(throttled)) => {
            let page = SignInPage {
                wait: Some(throttled.into()),
                ..page("Too many attempts.".to_owned())
            };
            too_many(&page, throttled)
        }
        Err(error) => Err(error.into()),
    }
}

/// The request's `User-Agent`.
pub(super) fn user_agent(request: &Request) -> Option<UserAgent> {
    request
        .header(header::USER_AGENT)
        .and_then(UserAgent::from_header)
}

/// Signs in a user who has just set a password, and redirects. If sign-in is refused at the moment, redirects to the
/// sign-in form instead.
pub(super) async fn sign_in_newcomer(
    visit: &Visit,
    attempt: SignInAttempt<'_>,
    next: Response,
    message: Message,
) -> Response {
    let mut response = visit.redirect(paths::SignIn, message);
    match visit.console.sign_in.sign_in(attempt).await {
        Ok(cookies) => return with_cookies(next, &visit.console, &cookies),
        Err(SignInError::WrongCredentials | SignInError::Throttled(_)) => {}
        Err(error) => Refusal::from(error).report_in(&mut response),
    }
    response
}

/// Sets the session cookie and, if there is one, the browser cookie.
pub(super) fn with_cookies(mut response: Response, console: &Console, new: &NewCookies) -> Response {
    cookies::SESSION.set(&mut response, &console.public_url, new.session.expose());
    if let Some(browser) = &new.browser {
        cookies::BROWSER.set(&mut response, &console.public_url, browser.expose());
    }
    response
}

fn wanted_page(fields: &Fields) -> Option<LocalPath> {
    fields.optional("next").and_then(return_page)
}

fn redirect_to_wanted_page(next: Option<&LocalPath>) -> Response {
    redirect(next.map_or(paths::Home::PATTERN, LocalPath::as_str))
}

impl SignInPage {
    /// Whether sign-in leads back to an invitation.
    fn is_to_join(&self) -> bool {
        let next = self.next.as_ref();
        next.is_some_and(|next| next.as_str() == paths::Join::PATTERN)
    }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}
