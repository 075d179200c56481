//! `/account`: the viewer's own organizations, sessions and password.

use std::sync::Arc;

use askama::Template;
use keyward_domain::audit::{Action, AuditEvent};
use keyward_domain::id::SessionId;
use keyward_domain::membership::Role;
use keyward_domain::sign_in::own_account::{ChangeOwnPasswordError, EndSessionError, NewPassword};
use keyward_domain::sign_in::password::{Password, WeakPassword};
use keyward_domain::sign_in::session::{Session, SignedIn};
use poem::http::StatusCode;
use poem::web::Data;
use poem::{Request, Response, handler};

use crate::browser_cookie::BrowserCookie;
use crate::forms::{Form, Query};
use crate::pages::browser_name::browser_name;
use crate::pages::field::{Field, focus_first_error};
use crate::pages::moment::Moment;
use crate::pages::sign_in::remember_browser;
use crate::pages::user_menu::UserMenu;
use crate::pages::waiting::too_many;
use crate::pages::{html, redirect};
use crate::path_id::PathId;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::viewer::Viewer;
use crate::{Console, links};

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    menu: UserMenu,
    notice: Option<Notice>,
    organizations: Vec<OwnOrganization>,
    sessions: Vec<SessionRow>,
    refused_attempts: Vec<RefusedAttempt>,
    password: PasswordForm,
}

/// What has just happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notice {
    SessionEnded,
    OthersEnded,
    PasswordChanged,
}

struct OwnOrganization {
    name: String,
    address: String,
    role: &'static str,
    joined: Moment,
}

struct SessionRow {
    browser: String,
    /// What the browser said that it is, in full.
    user_agent: String,
    is_this_one: bool,
    address: Option<String>,
    started: Moment,
    last_seen: Moment,
    end: String,
}

/// An attempt at the user's password.
struct RefusedAttempt {
    at: Moment,
    address: Option<String>,
    what: &'static str,
}

#[derive(Default)]
struct PasswordForm {
    current: Field,
    new: Field,
}

impl PasswordForm {
    const fn has_errors(&self) -> bool {
        self.current.error.is_some() || self.new.error.is_some()
    }
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Viewer(viewer): Viewer,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let notice = query.optional("notice").and_then(Notice::from_word);
    let page = page(console, &viewer, notice, PasswordForm::default()).await?;
    html(StatusCode::OK, &page)
}

#[handler]
pub(crate) async fn change_password(
    Data(console): Data<&Arc<Console>>,
    Source(source): Source,
    request: &Request,
    Form(form): Form,
    // After the form, which may be long on its way: who sends it must still be signed in when it is here.
    Viewer(viewer): Viewer,
) -> Result<Response, Refusal> {
    let current = form.required("current_password")?;
    let new = choose_password(console, &viewer, form.required("new_password")?).await?;
    let mut fields = PasswordForm::default();
    if current.is_empty() {
        fields.current.error = Some("Enter your current password.".to_owned());
    }
    let new = fields.new.check("New password", new);
    let mut throttled = None;
    if let (Some(new), false) = (new, fields.has_errors()) {
        let passwords = NewPassword {
            current: Password::attempt(current),
            new,
            browser: BrowserCookie::of(&console.public_url).read(request.headers()),
        };
        let changed = console
            .own_account
            .change_password(&viewer, passwords, source)
            .await;
        match changed {
            Ok(browser) => {
                let mut response = redirect(&Notice::PasswordChanged.address());
                remember_browser(&mut response, console, browser.as_ref());
                return Ok(response);
            }
            Err(ChangeOwnPasswordError::WrongPassword) => {
                fields.current.error = Some("The current password is incorrect.".to_owned());
            }
            Err(ChangeOwnPasswordError::Throttled(wait)) => {
                fields.current.say_to_wait(wait);
                throttled = Some(wait);
            }
            Err(ChangeOwnPasswordError::Hashing(error)) => return Err(error.into()),
            Err(ChangeOwnPasswordError::Storage(error)) => return Err(error.into()),
        }
    }
    focus_first_error(&mut [&mut fields.current, &mut fields.new]);
    let page = page(console, &viewer, None, fields).await?;
    match throttled {
        Some(throttled) => too_many(&page, throttled),
        None => html(StatusCode::UNPROCESSABLE_ENTITY, &page),
    }
}

async fn choose_password(
    console: &Console,
    viewer: &SignedIn,
    typed: &str,
) -> Result<Result<Password, WeakPassword>, Refusal> {
    let user = &viewer.user;
    let members = console.memberships.list_live(user.id, console.now()).await?;
    let organizations = members.iter().map(|member| &member.organization);
    let names: Vec<&str> = organizations
        .flat_map(|organization| [organization.name.as_str(), organization.slug.as_str()])
        .chain([user.display_name.as_str()])
        .collect();
    Ok(Password::choose(typed, &user.username, &names))
}

#[handler]
pub(crate) async fn end_session(
    Data(console): Data<&Arc<Console>>,
    Viewer(viewer): Viewer,
    PathId(id): PathId<SessionId>,
    Source(source): Source,
) -> Result<Response, Refusal> {
    match console.own_account.end_session(&viewer, id, source).await {
        // Whoever ends the same session twice wants it gone, and it is.
        Ok(()) | Err(EndSessionError::NotFound) => Ok(redirect(&Notice::SessionEnded.address())),
        Err(EndSessionError::Storage(error)) => Err(error.into()),
    }
}

#[handler]
pub(crate) async fn end_other_sessions(
    Data(console): Data<&Arc<Console>>,
    Viewer(viewer): Viewer,
    Source(source): Source,
) -> Result<Response, Refusal> {
    console.own_account.end_other_sessions(&viewer, source).await?;
    Ok(redirect(&Notice::OthersEnded.address()))
}

async fn page(
    console: &Console,
    viewer: &SignedIn,
    notice: Option<Notice>,
    password: PasswordForm,
) -> Result<AccountPage, Refusal> {
    let members = console
        .memberships
        .list_live(viewer.user.id, console.now())
        .await?;
    let own = members.iter().map(|member| OwnOrganization {
        name: member.organization.name.to_string(),
        address: links::api_keys(&member.organization.slug),
        role: match member.membership.role {
            Role::Owner => "Owner",
            Role::Member => "Member",
        },
        joined: Moment(member.membership.joined_at),
    });
    let mut sessions = console.own_account.sessions(viewer).await?;
    sessions.sort_by_key(|session| session.id != viewer.session.id);
    let refused = console.own_account.refused_attempts(viewer).await?;
    Ok(AccountPage {
        menu: UserMenu::new(&viewer.user, members.iter().map(|member| &member.organization)),
        notice,
        organizations: own.collect(),
        sessions: sessions
            .iter()
            .map(|session| SessionRow::new(session, viewer))
            .collect(),
        refused_attempts: refused.iter().map(RefusedAttempt::new).collect(),
        password,
    })
}

impl SessionRow {
    fn new(session: &Session, viewer: &SignedIn) -> Self {
        let agent = session.user_agent.as_ref();
        Self {
            browser: agent.map_or_else(|| "Unknown browser".to_owned(), browser_name),
            user_agent: agent.map(|agent| agent.as_str().to_owned()).unwrap_or_default(),
            is_this_one: session.id == viewer.session.id,
            address: session.started_from.map(|address| address.to_string()),
            started: Moment(session.started_at),
            last_seen: Moment(session.last_seen_at),
            end: links::end_session(session.id),
        }
    }
}

impl RefusedAttempt {
    fn new(event: &AuditEvent) -> Self {
        Self {
            at: Moment(event.at),
            address: event.source.address.map(|address| address.to_string()),
            what: match event.action {
                Action::ChangePassword => "Wrong current password",
                Action::LimitAttempts => "Too many attempts",
                _ => "Wrong password",
            },
        }
    }
}

impl Notice {
    const fn as_str(self) -> &'static str {
        match self {
            Self::SessionEnded => "session-ended",
            Self::OthersEnded => "others-ended",
            Self::PasswordChanged => "password-changed",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::SessionEnded, Self::OthersEnded, Self::PasswordChanged]
            .into_iter()
            .find(|notice| notice.as_str() == word)
    }

    /// The page as it is afterwards, saying so.
    fn address(self) -> String {
        links::with_query(links::ACCOUNT, [("notice", Some(self.as_str()))])
    }
}
