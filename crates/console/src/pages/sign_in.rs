//! `/sign-in`: username and password for a session.

use std::sync::Arc;

use askama::Template;
use keyward_domain::sign_in::UserAgent;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::remembered_browser::BrowserToken;
use keyward_domain::sign_in::signing_in::{NewCookies, SignInAttempt, SignInError};
use keyward_domain::token::Token;
use poem::http::{StatusCode, header};
use poem::web::Data;
use poem::{Request, Response, handler};

use crate::browser_cookie::BrowserCookie;
use crate::forms::{Fields, Form, Query};
use crate::links::SignInNotice;
use crate::local_path::LocalPath;
use crate::pages::waiting::{Wait, too_many};
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::session_cookie::SessionCookie;
use crate::viewer::Visitor;
use crate::{Console, links};

#[derive(Template, Default)]
#[template(path = "sign_in.html")]
struct SignInPage {
    next: Option<LocalPath>,
    notice: Option<&'static str>,
    username: String,
    error: Option<String>,
    /// How long to wait, after too many attempts.
    wait: Option<Wait>,
    /// The username or the password has to be typed anew.
    credentials_refused: bool,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Visitor(visitor): Visitor,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let next = wanted_page(&query);
    if visitor.is_some() {
        return Ok(lead_on(next.as_ref()));
    }
    if !console.setup.is_complete().await? {
        return Ok(redirect(links::HOME));
    }
    let page = SignInPage {
        next,
        notice: query
            .optional("notice")
            .and_then(SignInNotice::from_word)
            .map(words),
        ..SignInPage::default()
    };
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    request: &Request,
    Form(form): Form,
) -> Result<Response, Refusal> {
    let next = wanted_page(&form);
    let username = form.required("username")?;
    let cookie = SessionCookie::of(&console.public_url);
    let attempt = SignInAttempt {
        user_agent: user_agent(request),
        username,
        password: Password::attempt(form.required("password")?),
        previous: cookie.read(request.headers()),
        browser: BrowserCookie::of(&console.public_url).read(request.headers()),
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
        Ok(cookies) => Ok(with_cookies(lead_on(next.as_ref()), console, &cookies)),
        Err(error @ SignInError::WrongCredentials) => {
            let page = SignInPage {
                credentials_refused: true,
                ..page(format!("{}.", capitalized(&error.to_string())))
            };
            html(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
        Err(SignInError::Throttled(throttled)) => {
            let page = SignInPage {
                wait: Some(throttled.into()),
                ..page("Too many attempts.".to_owned())
            };
            too_many(&page, throttled)
        }
        Err(SignInError::Hashing(error)) => Err(error.into()),
        Err(SignInError::Storage(error)) => Err(error.into()),
    }
}

/// What the browser says that it is.
pub(super) fn user_agent(request: &Request) -> Option<UserAgent> {
    request
        .header(header::USER_AGENT)
        .and_then(UserAgent::from_header)
}

/// Signs somebody in who has just chosen their password, and leads them on.
///
/// Nobody else can have chosen another since, but an attempt may be refused for now: then they sign in themselves.
pub(super) async fn sign_in_newcomer(
    console: &Console,
    attempt: SignInAttempt<'_>,
    next: &str,
    notice: SignInNotice,
) -> Result<Response, Refusal> {
    let mut response = redirect(&links::sign_in(None, Some(notice)));
    match console.sign_in.sign_in(attempt).await {
        Ok(cookies) => return Ok(with_cookies(redirect(next), console, &cookies)),
        Err(SignInError::WrongCredentials | SignInError::Throttled(_)) => {}
        Err(SignInError::Hashing(error)) => Refusal::from(error).tell_beside(&mut response),
        Err(SignInError::Storage(error)) => Refusal::from(error).tell_beside(&mut response),
    }
    Ok(response)
}

/// Gives the browser a new session, and remembers it.
fn with_cookies(mut response: Response, console: &Console, cookies: &NewCookies) -> Response {
    let headers = response.headers_mut();
    let session = SessionCookie::of(&console.public_url).set(&cookies.session);
    headers.append(header::SET_COOKIE, session);
    remember_browser(&mut response, console, cookies.browser.as_ref());
    response
}

/// Remembers the browser, if that can be said.
pub(super) fn remember_browser(response: &mut Response, console: &Console, browser: Option<&BrowserToken>) {
    if let Some(browser) = browser {
        let browser = BrowserCookie::of(&console.public_url).set(browser);
        response.headers_mut().append(header::SET_COOKIE, browser);
    }
}

fn wanted_page(fields: &Fields) -> Option<LocalPath> {
    fields.optional("next").and_then(LocalPath::parse)
}

fn lead_on(next: Option<&LocalPath>) -> Response {
    redirect(next.map_or(links::HOME, LocalPath::as_str))
}

fn words(notice: SignInNotice) -> &'static str {
    match notice {
        SignInNotice::SetUp => "Setup is complete. Sign in with the username and password you chose.",
        SignInNotice::Joined => "You have joined. Sign in with the username and password you chose.",
        SignInNotice::SignedOut => "You are signed out.",
        SignInNotice::SessionEnded => "You were signed out. Sign in to continue where you left off.",
        SignInNotice::ToJoin => "Sign in to join. You then return to the invitation.",
        SignInNotice::FormNotSent => {
            "You were signed out, so your changes were not saved. Sign in and try again."
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}
