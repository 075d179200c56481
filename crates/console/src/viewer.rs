//! Who asks for a page, decided anew at every request.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use keyward_domain::administration::Authority;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::membership::Member;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::sign_in::session::SignedIn;
use poem::error::GetDataError;
use poem::http::Method;
use poem::{FromRequest, Request, RequestBody};
use tokio::time::timeout;

use crate::Console;
use crate::links::{Parameter, SignInNotice};
use crate::local_path::LocalPath;
use crate::refusal::Refusal;
use crate::session_cookie::SessionCookie;

/// Somebody, signed in or not.
pub(crate) struct Visitor(pub(crate) Option<SignedIn>);

impl<'a> FromRequest<'a> for Visitor {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let console = console(request)?;
        let cookie = SessionCookie::of(&console.public_url);
        let Some(token) = cookie.read(request.headers()) else {
            return Ok(Self(None));
        };
        let signed_in = console.sign_in.signed_in(&token).await.map_err(Refusal::from)?;
        if let Some(signed_in) = &signed_in {
            note_seen(console, signed_in).await;
        }
        Ok(Self(signed_in))
    }
}

/// Pages go on without: when somebody was last seen is worth neither a page nor a long wait. What takes longer is written
/// all the same.
async fn note_seen(console: &Console, signed_in: &SignedIn) {
    const LONGEST_WAIT: Duration = Duration::from_millis(250);
    match timeout(LONGEST_WAIT, console.sign_in.note_seen(signed_in)).await {
        Ok(Ok(())) => {}
        // Whoever serves the console watches whether the storage takes changes, and tells it once.
        Ok(Err(error)) if error.is_outage() => {
            tracing::debug!(error = sentence(&error), "last seen not written");
        }
        Ok(Err(error)) => tracing::warn!(error = sentence(&error), "last seen not written"),
        Err(_) => tracing::debug!("last seen not written yet"),
    }
}

/// Somebody who is signed in. Others are led to the sign-in page and from there back here; if they sent a form, they
/// are told that it was not read.
pub(crate) struct Viewer(pub(crate) SignedIn);

impl<'a> FromRequest<'a> for Viewer {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let Visitor(signed_in) = Visitor::from_request(request, body).await?;
        Ok(Self(signed_in.ok_or_else(|| signed_out(request))?))
    }
}

fn signed_out(request: &Request) -> Refusal {
    let had_session = console(request).is_ok_and(|console| {
        SessionCookie::of(&console.public_url)
            .read(request.headers())
            .is_some()
    });
    let notice = if *request.method() == Method::POST {
        Some(SignInNotice::FormNotSent)
    } else {
        had_session.then_some(SignInNotice::SessionEnded)
    };
    Refusal::SignedOut {
        next: request
            .uri()
            .path_and_query()
            .and_then(|path| LocalPath::parse(path.as_str())),
        notice,
    }
}

/// Somebody who is signed in and belongs to the organization in the path. To all others it does not exist.
pub(crate) struct Insider {
    /// The viewer in this organization.
    pub(crate) member: Member,
    /// All organizations they belong to.
    pub(crate) organizations: Vec<Organization>,
    /// The moment at which that is so.
    pub(crate) now: DateTime<Utc>,
}

impl Insider {
    /// What lets an owner run the organization.
    pub(crate) fn as_authority(&self) -> Option<Authority> {
        self.member.as_authority(self.now)
    }
}

impl<'a> FromRequest<'a> for Insider {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let console = console(request)?;
        let Viewer(viewer) = Viewer::from_request(request, body).await?;
        let slug = Parameter::SLUG
            .of(request)
            .and_then(|slug| Slug::parse(slug).ok())
            .ok_or(Refusal::NotFound)?;
        let now = console.now();
        // All at once, for the menu needs the others, too.
        let members = console
            .memberships
            .list_live(viewer.user.id, now)
            .await
            .map_err(Refusal::from)?;
        let member = members.iter().find(|member| member.organization.slug == slug);
        Ok(Self {
            member: member.ok_or(Refusal::NotFound)?.clone(),
            organizations: members.into_iter().map(|member| member.organization).collect(),
            now,
        })
    }
}

/// An insider who runs the organization. To plain members, an owner's pages do not exist.
pub(crate) struct Owner {
    /// The viewer in this organization.
    pub(crate) insider: Insider,
    /// What lets them run it.
    pub(crate) authority: Authority,
}

impl<'a> FromRequest<'a> for Owner {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let insider = Insider::from_request(request, body).await?;
        let authority = insider.as_authority().ok_or(Refusal::NotFound)?;
        Ok(Self { insider, authority })
    }
}

fn console(request: &Request) -> poem::Result<&Arc<Console>> {
    let console = request.data();
    Ok(console.ok_or(GetDataError(std::any::type_name::<Arc<Console>>()))?)
}
