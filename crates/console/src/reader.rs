//! Extractors for who sends a request, decided anew each time, and for what every page needs: the console, the time and
//! the flash message.

use std::fmt::Display;
use std::ops::Deref;
use std::sync::Arc;

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::Authority;
use keyward_domain::holder::Holder;
use keyward_domain::membership;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::session::SignedIn;
use poem::error::GetDataError;
use poem::http::{Method, StatusCode, Uri, header};
use poem::{FromRequest, Request, RequestBody, Response};

use crate::Console;
use crate::answer::{html, redirect};
use crate::cookies;
use crate::flash::{Flash, Message};
use crate::local_path::LocalPath;
use crate::paths::SLUG;
use crate::refusal::Refusal;
use crate::return_page::return_page;
use crate::viewer::signed_in;

/// The parts of a request that every page needs.
pub(crate) struct Visit {
    pub(crate) console: Arc<Console>,
    /// All data on a page is as of this time.
    pub(crate) now: DateTime<Utc>,
    /// The message that the last form left; only for GET.
    pub(crate) flash: Option<Flash>,
}

impl Visit {
    fn of(request: &Request) -> poem::Result<Self> {
        let console: &Arc<Console> = request
            .data()
            .ok_or(GetDataError(std::any::type_name::<Arc<Console>>()))?;
        let is_page = *request.method() == Method::GET;
        Ok(Self {
            console: Arc::clone(console),
            now: console.now(),
            flash: is_page
                .then(|| cookies::FLASH.read(request.headers(), &console.public_url))
                .flatten(),
        })
    }

    /// Renders a page with the pending flash message, and clears it.
    pub(crate) fn page(&self, template: &impl Template) -> Result<Response, Refusal> {
        Ok(self.without_flash(html(StatusCode::OK, template)?))
    }

    /// Clears the flash message that this page shows.
    pub(crate) fn without_flash(&self, mut page: Response) -> Response {
        if self.flash.is_some() {
            cookies::FLASH.remove(&mut page, &self.console.public_url);
        }
        page
    }

    /// Whether this message is pending.
    pub(crate) fn has_flash(&self, message: Message) -> bool {
        self.flash.is_some_and(|flash| flash.message == message)
    }

    /// Redirects to a page that shows this message.
    pub(crate) fn redirect(&self, to: impl Display, message: impl Into<Flash>) -> Response {
        let mut response = redirect(to);
        let text = message.into().to_text();
        cookies::FLASH.set(&mut response, &self.console.public_url, &text);
        response
    }
}

/// The sender of a request for a page or a form, if they have access.
pub(crate) trait Reader: Sized + Send {
    fn of(request: &Request) -> impl Future<Output = poem::Result<Self>> + Send {
        async { Self::admit(Visitor::identify(request).await?, request).await }
    }

    fn admit(visitor: Visitor, request: &Request) -> impl Future<Output = poem::Result<Self>> + Send;
}

/// Implements FromRequest and Deref.
macro_rules! extracted {
    ($($reader:ident: $field:ident of $target:ident)+) => {$(
        impl<'a> FromRequest<'a> for $reader {
            async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
                Self::of(request).await
            }
        }

        impl Deref for $reader {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.$field
            }
        }
    )+};
}

extracted! {
    Visitor: visit of Visit
    User: visit of Visit
    Member: visit of Visit
    Owner: member of Member
}

/// Anyone, signed in or not.
pub(crate) struct Visitor {
    visit: Visit,
    pub(crate) signed_in: Option<SignedIn>,
}

impl Visitor {
    pub(crate) async fn identify(request: &Request) -> poem::Result<Self> {
        let visit = Visit::of(request)?;
        let signed_in = signed_in(request, &visit.console).await?;
        Ok(Self { visit, signed_in })
    }
}

impl Reader for Visitor {
    async fn admit(visitor: Visitor, _: &Request) -> poem::Result<Self> {
        Ok(visitor)
    }
}

/// A signed-in user. Others are redirected to the sign-in page and from there back here; if they sent a form, a message
/// says that it was not read.
pub(crate) struct User {
    visit: Visit,
    pub(crate) signed_in: SignedIn,
}

impl Reader for User {
    async fn admit(Visitor { visit, signed_in }: Visitor, request: &Request) -> poem::Result<Self> {
        match signed_in {
            Some(signed_in) => Ok(Self { visit, signed_in }),
            None => Err(signed_out(request, &visit).into()),
        }
    }
}

fn signed_out(request: &Request, visit: &Visit) -> Refusal {
    let public_url = &visit.console.public_url;
    let sends_form = *request.method() == Method::POST;
    let page_of_form = sends_form.then(|| page_of_form(request, public_url)).flatten();
    let asked_for = request.uri().path_and_query().map(|url| url.as_str());
    let next = page_of_form.or_else(|| return_page(asked_for?));
    let to = crate::paths::sign_in(next.as_ref());
    let session = cookies::SESSION.read(request.headers(), public_url);
    let response = if sends_form {
        visit.redirect(to, Message::FormNotSent)
    } else if session.is_some() && !visit.has_flash(Message::TokenLeftOut) {
        let returns_exactly = next.as_ref().map(LocalPath::as_str) == asked_for;
        let message = if returns_exactly {
            Message::SessionOver
        } else {
            Message::SessionOverElsewhere
        };
        visit.redirect(to, message)
    } else {
        redirect(to)
    };
    Refusal::Instead(Box::new(response))
}

/// The page that the form was on, if the browser sent its URL and the form's path is equal to its path or below it.
fn page_of_form(request: &Request, public_url: &PublicUrl) -> Option<LocalPath> {
    let page: Uri = request.header(header::REFERER)?.parse().ok()?;
    let is_ours = public_url.is_origin(&format!("{}://{}", page.scheme_str()?, page.authority()?));
    let path = Some(page.path()).filter(|path| is_ours && !path.ends_with('/'))?;
    let below = request.uri().path().strip_prefix(path)?;
    let is_there = below.is_empty() || below.starts_with('/');
    is_there.then(|| return_page(page.path_and_query()?.as_str()))?
}

/// A signed-in member of the organization in the path. For everyone else, the organization is not found.
pub(crate) struct Member {
    visit: Visit,
    /// The user's membership of this organization.
    pub(crate) member: membership::Member,
    /// All organizations that the user belongs to.
    pub(crate) organizations: Vec<Organization>,
}

impl Member {
    /// The organization's part of the path.
    pub(crate) const fn slug(&self) -> &Slug {
        &self.member.organization.slug
    }

    pub(crate) fn holder(&self) -> Holder {
        self.member.as_holder()
    }

    /// The authority over the organization, if the member is an owner.
    pub(crate) fn authority(&self) -> Option<Authority> {
        self.member.as_authority(self.now)
    }
}

impl Reader for Member {
    async fn admit(visitor: Visitor, request: &Request) -> poem::Result<Self> {
        let User { visit, signed_in } = User::admit(visitor, request).await?;
        let slug = request.raw_path_param(SLUG);
        let slug = slug.and_then(|slug| Slug::parse(slug).ok());
        let slug = slug.ok_or(Refusal::NotFound)?;
        // All memberships in one query, because the menu needs them, too.
        let members = visit.console.memberships.list_live(signed_in.user.id, visit.now);
        let members = members.await.map_err(Refusal::from)?;
        let member = members.iter().find(|member| member.organization.slug == slug);
        Ok(Self {
            member: member.ok_or(Refusal::NotFound)?.clone(),
            organizations: members.into_iter().map(|member| member.organization).collect(),
            visit,
        })
    }
}

/// A member who is an owner. For plain members, an owner's pages are not found.
pub(crate) struct Owner {
    member: Member,
    pub(crate) authority: Authority,
}

impl Reader for Owner {
    async fn admit(visitor: Visitor, request: &Request) -> poem::Result<Self> {
        let member = Member::admit(visitor, request).await?;
        let authority = member.authority().ok_or(Refusal::NotFound)?;
        Ok(Self { member, authority })
    }
}
