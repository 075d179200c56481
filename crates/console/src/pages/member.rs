//! One member, as owners see them: role, and the way to removal.

use std::sync::Arc;

use askama::Template;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{KeyHolder, MemberOverview};
use keyward_domain::audit::Subject;
use keyward_domain::id::MembershipId;
use keyward_domain::membership::Role;
use keyward_domain::user::Username;
use poem::http::StatusCode;
use poem::web::Data;
use poem::{FromRequest, Request, RequestBody, Response, handler};

use crate::forms::Query;
use crate::links::Parameter;
use crate::pages::key_standing::Standing;
use crate::pages::listing::ListedStatus;
use crate::pages::moment::Moment;
use crate::pages::settings::{Section, Settings};
use crate::pages::{html, redirect};
use crate::refusal::Refusal;
use crate::viewer::{Insider, Owner};
use crate::{Console, links};

#[derive(Template)]
#[template(path = "member.html")]
struct MemberPage {
    settings: Settings,
    list: String,
    name: String,
    username: String,
    is_viewer: bool,
    role: Role,
    joined: Moment,
    valid_keys: u32,
    /// Where these are listed.
    keys: String,
    /// What they did.
    events: String,
    projects: u32,
    /// Where the other role is given.
    change_role: String,
    /// Where the membership ends.
    end: String,
    has_new_role: bool,
    /// Nobody else runs the organization, so they have to stay its owner.
    is_last_owner: bool,
    /// Somebody wanted them to be a plain member.
    was_refused: bool,
}

/// Somebody who is no member any more.
#[derive(Template)]
#[template(path = "former_member.html")]
struct FormerMemberPage {
    settings: Settings,
    list: String,
    name: String,
    username: String,
    /// Where the keys that they left behind are listed.
    keys: String,
    /// What they did.
    events: String,
    /// The page of the membership that they have now, if they came back.
    current: Option<String>,
}

#[handler]
pub(crate) async fn show(
    Data(console): Data<&Arc<Console>>,
    Owner { insider, authority }: Owner,
    named: NamedMember,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let id = match named {
        NamedMember::Id(id) => id,
        NamedMember::Username(username) => {
            return show_named(console, &insider, &authority, &username).await;
        }
    };
    let Some(member) = console.members.find(&authority, id, insider.now).await? else {
        let subject = Subject::Membership(id);
        return former_member(console, &insider, &authority, subject).await;
    };
    let page = MemberPage {
        // The page tells the role that they have, so no link can claim another.
        has_new_role: query.optional("role") == Some("changed"),
        ..MemberPage::new(console, &insider, &member).await?
    };
    html(StatusCode::OK, &page)
}

/// A member as the path names them: by identifier or, with an at sign before it, by username.
pub(crate) enum NamedMember {
    Id(MembershipId),
    Username(Username),
}

impl<'a> FromRequest<'a> for NamedMember {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let text = Parameter::ID.of(request).unwrap_or_default();
        let named = match text.strip_prefix('@') {
            Some(username) => Username::parse(username).ok().map(Self::Username),
            None => text.parse().ok().map(Self::Id),
        };
        Ok(named.ok_or(Refusal::NotFound)?)
    }
}

/// Leads to the page of whoever signs in with this name.
async fn show_named(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    username: &Username,
) -> Result<Response, Refusal> {
    if let Some(member) = console
        .members
        .find_by_username(authority, username, insider.now)
        .await?
    {
        let slug = &insider.member.organization.slug;
        return Ok(redirect(&links::member(slug, member.membership.id)));
    }
    let organization = authority.organization_id();
    let user = console.names.find_user(organization, username).await?;
    let subject = Subject::User(user.ok_or(Refusal::NotFound)?);
    former_member(console, insider, authority, subject).await
}

/// The page of somebody who was a member: it says that they are gone, and leads on to what they left behind.
async fn former_member(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    subject: Subject,
) -> Result<Response, Refusal> {
    let organization = authority.organization_id();
    let name = console.names.find(organization, &[subject]).await?;
    let username = console.names.usernames(organization, &[subject]).await?;
    let (Some(name), Some(username)) = (name.get(&subject), username.get(&subject)) else {
        return Err(Refusal::NotFound);
    };
    let current = console
        .members
        .find_by_username(authority, username, insider.now)
        .await?;
    let slug = &insider.member.organization.slug;
    let page = FormerMemberPage {
        settings: Settings::new(insider, Section::Members),
        list: links::members(slug),
        name: name.clone(),
        username: username.to_string(),
        keys: links::with_query(
            &links::organization_keys(slug),
            [
                ("status", Some(Standing::WithoutAccess.as_str())),
                ("search", Some(username.as_str())),
            ],
        ),
        events: links::with_query(&links::audit_log(slug), [("who", Some(username.as_str()))]),
        current: current.map(|member| links::member(slug, member.membership.id)),
    };
    html(StatusCode::NOT_FOUND, &page)
}

/// The page after the last owner was to become a plain member: it says why that was refused.
pub(super) async fn last_owner_stays(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    id: MembershipId,
) -> Result<Response, Refusal> {
    let member = console.members.find(authority, id, insider.now).await?;
    let member = member.ok_or(Refusal::NotFound)?;
    let page = MemberPage {
        is_last_owner: true,
        was_refused: true,
        ..MemberPage::new(console, insider, &member).await?
    };
    html(StatusCode::CONFLICT, &page)
}

/// Who a live member of the organization is. Others do not exist here.
pub(super) async fn identify(
    console: &Console,
    insider: &Insider,
    authority: &Authority,
    id: MembershipId,
) -> Result<KeyHolder, Refusal> {
    let member = console.members.identify(authority, id, insider.now).await?;
    member.ok_or(Refusal::NotFound)
}

impl MemberPage {
    async fn new(console: &Console, insider: &Insider, member: &MemberOverview) -> Result<Self, Refusal> {
        let slug = &insider.member.organization.slug;
        let id = member.membership.id;
        let is_viewer = id == insider.member.membership.id;
        Ok(Self {
            settings: Settings::new(insider, Section::Members),
            list: links::members(slug),
            name: member.user.display_name.to_string(),
            username: member.user.username.to_string(),
            is_viewer,
            role: member.membership.role,
            joined: Moment(member.membership.joined_at),
            valid_keys: member.valid_keys,
            keys: links::keys_of(slug, id, None),
            events: links::with_query(
                &links::audit_log(slug),
                [("who", Some(member.user.username.as_str()))],
            ),
            projects: member.projects,
            change_role: links::change_role(slug, id),
            end: if is_viewer {
                links::leave(slug)
            } else {
                links::remove_member(slug, id)
            },
            has_new_role: false,
            is_last_owner: console
                .members
                .is_last_owner(&member.membership, insider.now)
                .await?,
            was_refused: false,
        })
    }
}
