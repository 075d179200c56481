//! One member, as owners see them: role, expiration, and the link to removal.

use askama::Template;
use chrono::{DateTime, Utc};
use keyward_domain::administration::ports::{MemberOverview, MemberProfile, Named};
use keyward_domain::audit::Subject;
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Role;
use keyward_domain::user::Username;
use poem::http::StatusCode;
use poem::{FromRequest, Request, RequestBody, Response, handler};

use crate::answer::{html, redirect};
use crate::pages::filters;
use crate::pages::list::ListedStatus;
use crate::pages::notice::Notice;
use crate::pages::organization_key_tab::{OrganizationKeyTab, keys_of};
use crate::pages::settings::{Section, Settings};
use crate::paths;
use crate::reader::Owner;
use crate::refusal::Refusal;

#[derive(Template)]
#[template(path = "member.html")]
struct MemberPage {
    settings: Settings,
    notice: Option<Notice>,
    member: MemberOverview,
    is_viewer: bool,
    /// The URL of the list of their valid keys.
    keys: String,
    /// The planned end of the membership.
    expires_at: Option<DateTime<Utc>>,
    /// The membership ends within a week.
    expires_soon: bool,
    /// The last permanent owner, who cannot become a plain member.
    is_last_owner: bool,
    /// The last owner was to become a plain member, which was refused.
    was_refused: bool,
}

/// A user who is no longer a member.
#[derive(Template)]
#[template(path = "former_member.html")]
struct FormerMemberPage {
    settings: Settings,
    name: String,
    username: Username,
    /// The user's present membership, after a later invitation.
    current: Option<MembershipId>,
}

#[handler]
pub(crate) async fn show(owner: Owner, named: NamedMember) -> Result<Response, Refusal> {
    let id = match named {
        NamedMember::Id(id) => id,
        NamedMember::Username(username) => return show_named(&owner, &username).await,
    };
    match owner
        .console
        .members
        .find(&owner.authority, id, owner.now)
        .await?
    {
        Some(member) => owner.page(&MemberPage::new(&owner, member).await?),
        None => former_member(&owner, Subject::Membership(id)).await,
    }
}

/// A member as the path names them: by identifier or, with an at sign before it, by username.
pub(crate) enum NamedMember {
    Id(MembershipId),
    Username(Username),
}

impl<'a> FromRequest<'a> for NamedMember {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let text = request.raw_path_param(paths::ID).unwrap_or_default();
        let named = match text.strip_prefix('@') {
            Some(username) => Username::parse(username).ok().map(Self::Username),
            None => text.parse().ok().map(Self::Id),
        };
        Ok(named.ok_or(Refusal::NotFound)?)
    }
}

/// Redirects to the page of the member with this username.
async fn show_named(owner: &Owner, username: &Username) -> Result<Response, Refusal> {
    let (console, authority) = (&owner.console, &owner.authority);
    if let Some(member) = console
        .members
        .find_by_username(authority, username, owner.now)
        .await?
    {
        return Ok(redirect(paths::Member(owner.slug(), &member.membership.id)));
    }
    let user = console
        .names
        .find_user(authority.organization_id(), username)
        .await?;
    former_member(owner, Subject::User(user.ok_or(Refusal::NotFound)?)).await
}

/// The page of a former member, with links to their keys and events.
pub(super) async fn former_member(owner: &Owner, subject: Subject) -> Result<Response, Refusal> {
    let (console, authority) = (&owner.console, &owner.authority);
    let organization = authority.organization_id();
    let mut named = console.names.identify(organization, &[subject]).await?;
    let Named { name, username, .. } = named.remove(&subject).ok_or(Refusal::NotFound)?;
    let username = username.ok_or(Refusal::NotFound)?;
    let current = console
        .members
        .find_by_username(authority, &username, owner.now)
        .await?;
    let page = FormerMemberPage {
        settings: Settings::new(owner, Section::Members),
        name,
        username,
        current: current.map(|member| member.membership.id),
    };
    Ok(html(StatusCode::NOT_FOUND, &page)?)
}

/// The answer when the last owner was to become a plain member: it says why that was refused.
pub(super) async fn last_owner_stays(owner: &Owner, id: MembershipId) -> Result<Response, Refusal> {
    let member = owner
        .console
        .members
        .find(&owner.authority, id, owner.now)
        .await?;
    let page = MemberPage {
        is_last_owner: true,
        was_refused: true,
        ..MemberPage::new(owner, member.ok_or(Refusal::NotFound)?).await?
    };
    Ok(html(StatusCode::CONFLICT, &page)?)
}

/// The profile of a live member; anyone else is not found.
pub(super) async fn identify(owner: &Owner, id: MembershipId) -> Result<MemberProfile, Refusal> {
    let member = owner
        .console
        .members
        .identify(&owner.authority, id, owner.now)
        .await?;
    member.ok_or(Refusal::NotFound)
}

impl MemberPage {
    async fn new(owner: &Owner, member: MemberOverview) -> Result<Self, Refusal> {
        let id = member.membership.id;
        Ok(Self {
            settings: Settings::new(owner, Section::Members),
            notice: Notice::for_owner(owner).await?,
            expires_at: member.membership.expires_at(owner.now),
            expires_soon: member.membership.expires_soon(owner.now),
            is_viewer: id == owner.member.membership.id,
            keys: keys_of(owner.slug(), id, OrganizationKeyTab::Valid),
            is_last_owner: owner.console.members.is_last_owner(&member.membership).await?,
            was_refused: false,
            member,
        })
    }
}

/// The URL of the audit log of what a user did.
fn events_of(settings: &Settings, username: &Username) -> String {
    paths::with_query(
        paths::AuditLog(&settings.slug),
        [("who", Some(username.as_str()))],
    )
}

/// The URL of the list of a former member's keys, which give no access.
fn keys_left_by(settings: &Settings, username: &Username) -> String {
    let fields = [
        ("status", Some(OrganizationKeyTab::WithoutAccess.query_value())),
        ("search", Some(username.as_str())),
    ];
    paths::with_query(paths::OrganizationKeys(&settings.slug), fields)
}
