//! `/account`: the viewer's own organizations, sessions and password.

use askama::Template;
use keyward_domain::audit::{Action, AuditEvent};
use keyward_domain::id::SessionId;
use keyward_domain::membership::Member;
use keyward_domain::sign_in::own_account::{ChangeOwnPasswordError, EndSessionError, NewPassword};
use keyward_domain::sign_in::password::{Password, WeakPassword};
use keyward_domain::sign_in::session::Session;
use poem::http::StatusCode;
use poem::{Request, Response, handler};

use crate::answer::{html, redirect};
use crate::cookies;
use crate::flash::{Audience, Message};
use crate::forms::{Sent, UserForm};
use crate::pages::browser_name::browser_name;
use crate::pages::field::{Field, focus_first_error};
use crate::pages::filters;
use crate::pages::notice::Notice;
use crate::pages::sign_in::with_cookies;
use crate::pages::waiting::too_many;
use crate::path_id::PathId;
use crate::paths;
use crate::reader::User;
use crate::refusal::Refusal;
use crate::user_menu::UserMenu;

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    menu: UserMenu,
    notice: Option<Notice>,
    members: Vec<Member>,
    /// The current session first.
    sessions: Vec<Session>,
    this_session: SessionId,
    refused_attempts: Vec<AuditEvent>,
    password: PasswordForm,
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
pub(crate) async fn show(user: User) -> Result<Response, Refusal> {
    user.page(&page(&user, PasswordForm::default()).await?)
}

/// Where password managers look for the form (W3C, "A Well-Known URL for Changing Passwords").
#[handler]
pub(crate) fn lead_to_password_form() -> Response {
    redirect(format_args!("{}#change-password", paths::Account))
}

#[handler]
pub(crate) async fn change_password(
    Sent(user, form, source): UserForm,
    request: &Request,
) -> Result<Response, Refusal> {
    let current = form.required("current_password")?;
    let new = choose_password(&user, form.required("new_password")?).await?;
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
            browser: cookies::BROWSER.read(request.headers(), &user.console.public_url),
        };
        match user
            .console
            .own_account
            .change_password(&user.signed_in, passwords, source)
            .await
        {
            Ok(cookies) => {
                let response = user.redirect(paths::Account, Message::PasswordChanged);
                return Ok(with_cookies(response, &user.console, &cookies));
            }
            Err(ChangeOwnPasswordError::WrongPassword) => {
                fields.current.error = Some("The current password is incorrect.".to_owned());
            }
            Err(ChangeOwnPasswordError::Throttled(wait)) => {
                fields.current.set_throttled(wait);
                throttled = Some(wait);
            }
            Err(error) => return Err(error.into()),
        }
    }
    focus_first_error(&mut [&mut fields.current, &mut fields.new]);
    let page = page(&user, fields).await?;
    match throttled {
        Some(throttled) => too_many(&page, throttled),
        None => Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?),
    }
}

async fn choose_password(user: &User, typed: &str) -> Result<Result<Password, WeakPassword>, Refusal> {
    let person = &user.signed_in.user;
    let members = user.console.memberships.list_live(person.id, user.now).await?;
    let organizations = members.iter().map(|member| &member.organization);
    let names: Vec<&str> = organizations
        .flat_map(|organization| [organization.name.as_str(), organization.slug.as_str()])
        .chain([person.display_name.as_str()])
        .collect();
    Ok(Password::choose(typed, &person.username, &names))
}

#[handler]
pub(crate) async fn end_session(
    Sent(user, _, source): UserForm,
    PathId(id): PathId<SessionId>,
) -> Result<Response, Refusal> {
    match user
        .console
        .own_account
        .end_session(&user.signed_in, id, source)
        .await
    {
        // A session that has ended already is no error: the user may have submitted the form twice.
        Ok(()) | Err(EndSessionError::NotFound) => Ok(user.redirect(paths::Account, Message::SessionEnded)),
        Err(error) => Err(error.into()),
    }
}

#[handler]
pub(crate) async fn end_other_sessions(Sent(user, _, source): UserForm) -> Result<Response, Refusal> {
    user.console
        .own_account
        .end_other_sessions(&user.signed_in, source)
        .await?;
    Ok(user.redirect(paths::Account, Message::OtherSessionsEnded))
}

async fn page(user: &User, password: PasswordForm) -> Result<AccountPage, Refusal> {
    let (console, signed_in) = (&user.console, &user.signed_in);
    let members = console.memberships.list_live(signed_in.user.id, user.now).await?;
    let mut sessions = console.own_account.sessions(signed_in).await?;
    sessions.sort_by_key(|session| session.id != signed_in.session.id);
    // The stored time may be a minute old; this request is a use of its session.
    if let Some(own) = sessions
        .iter_mut()
        .find(|session| session.id == signed_in.session.id)
    {
        own.last_seen_at = user.now;
    }
    Ok(AccountPage {
        menu: UserMenu::new(&signed_in.user, members.iter().map(|member| &member.organization)),
        notice: Notice::at(Audience::Account, user),
        members,
        sessions,
        this_session: signed_in.session.id,
        refused_attempts: console.own_account.refused_attempts(signed_in).await?,
        password,
    })
}

/// Why the attempt was refused.
const fn attempt(event: &AuditEvent) -> &'static str {
    match event.action {
        Action::ChangePassword => "Wrong current password",
        Action::LimitAttempts => "Too many attempts",
        _ => "Wrong password",
    }
}

/// The name of the browser in which the session was started.
fn browser(session: &Session) -> String {
    let agent = session.user_agent.as_ref();
    agent.map_or_else(|| "Unknown browser".to_owned(), browser_name)
}
