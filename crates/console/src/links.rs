//! The addresses of the console's pages, each written once: the table of routes is made of the same functions as links, with
//! [`Parameter`]s in the places of what differs.

use std::fmt::{self, Display};

use keyward_domain::id::{ApiKeyId, ConsumerId, InvitationId, MembershipId, ProjectId, SessionId};
use keyward_domain::invitation::InvitationToken;
use keyward_domain::organization::{Organization, Slug};
use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::setup::SetupToken;
use keyward_domain::user::Username;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use poem::Request;

use crate::local_path::LocalPath;

/// All but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What stands in an address for a `T`.
pub(crate) trait Segment<T>: Display {}

/// What stands in the table of routes for any `T`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter(&'static str);

impl Parameter {
    pub(crate) const SLUG: Self = Self("slug");
    pub(crate) const ID: Self = Self("id");
    pub(crate) const NAME: Self = Self("name");

    /// What the request has in its place.
    pub(crate) fn of(self, request: &Request) -> Option<&str> {
        request.raw_path_param(self.0)
    }
}

impl Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.0)
    }
}

impl<T> Segment<T> for Parameter {}
impl Segment<Slug> for &Slug {}
impl Segment<Self> for ApiKeyId {}
impl Segment<Self> for InvitationId {}
impl Segment<Self> for MembershipId {}
impl Segment<Self> for ProjectId {}
impl Segment<Self> for SessionId {}

pub(crate) const HOME: &str = "/";
pub(crate) const SETUP: &str = "/setup";
pub(crate) const SIGN_IN: &str = "/sign-in";
pub(crate) const SIGN_OUT: &str = "/sign-out";
pub(crate) const JOIN: &str = "/join";
pub(crate) const ACCOUNT: &str = "/account";
pub(crate) const CHANGE_PASSWORD: &str = "/account/password";
pub(crate) const END_OTHER_SESSIONS: &str = "/account/sessions/end-others";

/// The page of an invitation.
pub(crate) fn join(token: &InvitationToken) -> String {
    with_query(JOIN, [("token", Some(token.expose()))])
}

/// The one-time link of an invitation. Whoever opens it first may join.
#[must_use]
pub fn invitation_link(public_url: &PublicUrl, token: &InvitationToken) -> String {
    public_url.to_string() + &join(token)
}

pub(crate) fn asset(name: impl Display) -> String {
    format!("/assets/{name}")
}

/// The one-time link that completes the first run. Whoever has it becomes the first owner.
#[must_use]
pub fn setup_link(public_url: &PublicUrl, token: &SetupToken) -> String {
    public_url.to_string() + &with_query(SETUP, [("token", Some(token.expose()))])
}

/// Below it is all that belongs to some organization.
pub(crate) const ORGANIZATIONS: &str = "/organizations";

/// What somebody types who shortens an address, as the next.
pub(crate) fn organization(organization: impl Segment<Slug>) -> String {
    format!("{ORGANIZATIONS}/{organization}")
}

pub(crate) fn settings(organization: impl Segment<Slug>) -> String {
    format!("{ORGANIZATIONS}/{organization}/settings")
}

pub(crate) fn general(organization: impl Segment<Slug>) -> String {
    format!("{}/general", settings(organization))
}

pub(crate) fn leave(organization: impl Segment<Slug>) -> String {
    format!("{}/leave", general(organization))
}

pub(crate) fn choose_for_new_keys(organization: impl Segment<Slug>) -> String {
    format!("{}/new-keys", general(organization))
}

pub(crate) fn members(organization: impl Segment<Slug>) -> String {
    format!("{}/members", settings(organization))
}

pub(crate) fn member(organization: impl Segment<Slug>, member: impl Segment<MembershipId>) -> String {
    format!("{}/{member}", members(organization))
}

/// Leads to the page of the member who signs in with this name.
pub(crate) fn member_named(organization: impl Segment<Slug>, username: &Username) -> String {
    format!("{}/@{username}", members(organization))
}

pub(crate) fn change_role(organization: impl Segment<Slug>, member: impl Segment<MembershipId>) -> String {
    format!("{}/{member}/role", members(organization))
}

pub(crate) fn remove_member(organization: impl Segment<Slug>, member: impl Segment<MembershipId>) -> String {
    format!("{}/{member}/remove", members(organization))
}

pub(crate) fn invite(organization: impl Segment<Slug>) -> String {
    format!("{}/invite", members(organization))
}

pub(crate) fn invitations(organization: impl Segment<Slug>) -> String {
    format!("{}/invitations", members(organization))
}

pub(crate) fn take_back_invitation(
    organization: impl Segment<Slug>,
    invitation: impl Segment<InvitationId>,
) -> String {
    format!("{}/{invitation}/take-back", invitations(organization))
}

pub(crate) fn projects(organization: impl Segment<Slug>) -> String {
    format!("{}/projects", settings(organization))
}

pub(crate) fn new_project(organization: impl Segment<Slug>) -> String {
    format!("{}/new", projects(organization))
}

pub(crate) fn project(organization: impl Segment<Slug>, project: impl Segment<ProjectId>) -> String {
    format!("{}/{project}", projects(organization))
}

pub(crate) fn archive_project(organization: impl Segment<Slug>, id: impl Segment<ProjectId>) -> String {
    format!("{}/archive", project(organization, id))
}

pub(crate) fn restore_project(organization: impl Segment<Slug>, id: impl Segment<ProjectId>) -> String {
    format!("{}/restore", project(organization, id))
}

pub(crate) fn add_project_members(organization: impl Segment<Slug>, id: impl Segment<ProjectId>) -> String {
    format!("{}/add-members", project(organization, id))
}

pub(crate) fn remove_project_member(organization: impl Segment<Slug>, id: impl Segment<ProjectId>) -> String {
    format!("{}/remove-member", project(organization, id))
}

pub(crate) fn api_keys(organization: impl Segment<Slug>) -> String {
    format!("{}/api-keys", settings(organization))
}

pub(crate) fn audit_log(organization: impl Segment<Slug>) -> String {
    format!("{}/audit-log", settings(organization))
}

pub(crate) fn audit_log_csv(organization: impl Segment<Slug>) -> String {
    format!("{}/export.csv", audit_log(organization))
}

pub(crate) fn audit_log_json_lines(organization: impl Segment<Slug>) -> String {
    format!("{}/export.jsonl", audit_log(organization))
}

pub(crate) fn new_api_key(organization: impl Segment<Slug>) -> String {
    format!("{}/new", api_keys(organization))
}

pub(crate) fn edit_api_key(organization: impl Segment<Slug>, key: impl Segment<ApiKeyId>) -> String {
    format!("{}/{key}/edit", api_keys(organization))
}

pub(crate) fn revoke_api_key(organization: impl Segment<Slug>, key: impl Segment<ApiKeyId>) -> String {
    format!("{}/{key}/revoke", api_keys(organization))
}

pub(crate) fn end_session(session: impl Segment<SessionId>) -> String {
    format!("{ACCOUNT}/sessions/{session}/end")
}

pub(crate) fn organization_keys(organization: impl Segment<Slug>) -> String {
    format!("{}/all", api_keys(organization))
}

pub(crate) fn keys_of(
    organization: impl Segment<Slug>,
    consumer: ConsumerId,
    status: Option<&str>,
) -> String {
    with_query(
        &organization_keys(organization),
        [("status", status), ("holder", Some(&*consumer.to_string()))],
    )
}

pub(crate) fn organization_key(organization: impl Segment<Slug>, key: impl Segment<ApiKeyId>) -> String {
    format!("{}/{key}", organization_keys(organization))
}

pub(crate) fn revoke_organization_keys(organization: impl Segment<Slug>) -> String {
    format!("{}/revoke", organization_keys(organization))
}

/// What the sign-in page says above its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInNotice {
    /// The first run is completed.
    SetUp,
    /// They have an account now, and a place in an organization.
    Joined,
    /// They have just signed out.
    SignedOut,
    /// They sent a form when their session had ended.
    FormNotSent,
    /// They asked for a page when their session had ended.
    SessionEnded,
    /// They come from an invitation.
    ToJoin,
}

impl SignInNotice {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Joined => "joined",
            Self::SignedOut => "signed-out",
            Self::FormNotSent => "form-not-sent",
            Self::SessionEnded => "session-ended",
            Self::ToJoin => "to-join",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [
            Self::SetUp,
            Self::Joined,
            Self::SignedOut,
            Self::FormNotSent,
            Self::SessionEnded,
            Self::ToJoin,
        ]
        .into_iter()
        .find(|notice| notice.as_str() == word)
    }
}

pub(crate) fn sign_in(next: Option<&LocalPath>, notice: Option<SignInNotice>) -> String {
    with_query(
        SIGN_IN,
        [
            ("next", next.map(LocalPath::as_str)),
            ("notice", notice.map(SignInNotice::as_str)),
        ],
    )
}

/// A page to go to.
pub(crate) struct Link {
    pub(crate) label: String,
    pub(crate) address: String,
}

impl Link {
    /// To the keys of whoever looks in an organization of theirs.
    pub(crate) fn to_keys_in(organization: &Organization) -> Self {
        Self {
            label: organization.name.to_string(),
            address: api_keys(&organization.slug),
        }
    }
}

/// A path with those fields that have a value.
pub(crate) fn with_query<'a>(
    path: &str,
    fields: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> String {
    let fields: Vec<String> = fields
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", utf8_percent_encode(value?, RESERVED))))
        .collect();
    if fields.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", fields.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::testing::SeededRandom;

    use super::*;

    #[test]
    fn one_time_links_carry_their_tokens() {
        let url = PublicUrl::parse("https://keys.example.com/").expect("a URL");
        let token = SetupToken::generate(&SeededRandom::new(1));
        let expected = format!("https://keys.example.com/setup?token={}", token.expose());
        assert_eq!(setup_link(&url, &token), expected);
        let token = InvitationToken::generate(&SeededRandom::new(1));
        let expected = format!("https://keys.example.com/join?token={}", token.expose());
        assert_eq!(invitation_link(&url, &token), expected);
    }

    #[test]
    fn route_has_parameters_where_its_link_has_what_it_names() {
        let id = "019b76da-a800-7c3e-8f21-5d1c3a9e4b70";
        let slug = Slug::parse("acme").expect("a slug");
        let key: ApiKeyId = id.parse().expect("an identifier");
        let route = edit_api_key(Parameter::SLUG, Parameter::ID);
        assert_eq!(route, "/organizations/:slug/settings/api-keys/:id/edit");
        let link = route.replace(":slug", "acme").replace(":id", id);
        assert_eq!(edit_api_key(&slug, key), link);
    }
}
