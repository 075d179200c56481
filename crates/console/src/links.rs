//! The addresses of the console's pages.

use keyward_domain::id::{ApiKeyId, ConsumerId, InvitationId, MembershipId, ProjectId, SessionId};
use keyward_domain::invitation::InvitationToken;
use keyward_domain::organization::Slug;
use keyward_domain::user::Username;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::local_path::LocalPath;

/// All but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

pub(crate) const HOME: &str = "/";
pub(crate) const SETUP: &str = "/setup";
pub(crate) const SIGN_IN: &str = "/sign-in";
pub(crate) const SIGN_OUT: &str = "/sign-out";
pub(crate) const JOIN: &str = "/join";
pub(crate) const ACCOUNT: &str = "/account";
pub(crate) const CHANGE_PASSWORD: &str = "/account/password";
pub(crate) const END_OTHER_SESSIONS: &str = "/account/sessions/end-others";
/// Not the console's page, but at the same address for everyone.
pub(crate) const API_REFERENCE: &str = "/docs";

/// The page of an invitation.
pub(crate) fn join(token: &InvitationToken) -> String {
    with_query(JOIN, [("token", Some(token.expose()))])
}

pub(crate) fn general(organization: &Slug) -> String {
    format!("/organizations/{organization}/settings/general")
}

pub(crate) fn leave(organization: &Slug) -> String {
    format!("{}/leave", general(organization))
}

pub(crate) fn choose_for_new_keys(organization: &Slug) -> String {
    format!("{}/new-keys", general(organization))
}

pub(crate) fn members(organization: &Slug) -> String {
    format!("/organizations/{organization}/settings/members")
}

pub(crate) fn member(organization: &Slug, member: MembershipId) -> String {
    format!("{}/{member}", members(organization))
}

/// Leads to the page of the member who signs in with this name.
pub(crate) fn member_named(organization: &Slug, username: &Username) -> String {
    format!("{}/@{username}", members(organization))
}

pub(crate) fn change_role(organization: &Slug, member: MembershipId) -> String {
    format!("{}/{member}/role", members(organization))
}

pub(crate) fn remove_member(organization: &Slug, member: MembershipId) -> String {
    format!("{}/{member}/remove", members(organization))
}

pub(crate) fn invite(organization: &Slug) -> String {
    format!("{}/invite", members(organization))
}

pub(crate) fn invitations(organization: &Slug) -> String {
    format!("{}/invitations", members(organization))
}

pub(crate) fn take_back_invitation(organization: &Slug, invitation: InvitationId) -> String {
    format!("{}/{invitation}/take-back", invitations(organization))
}

pub(crate) fn projects(organization: &Slug) -> String {
    format!("/organizations/{organization}/settings/projects")
}

pub(crate) fn new_project(organization: &Slug) -> String {
    format!("{}/new", projects(organization))
}

pub(crate) fn project(organization: &Slug, project: ProjectId) -> String {
    format!("{}/{project}", projects(organization))
}

pub(crate) fn archive_project(organization: &Slug, id: ProjectId) -> String {
    format!("{}/archive", project(organization, id))
}

pub(crate) fn restore_project(organization: &Slug, id: ProjectId) -> String {
    format!("{}/restore", project(organization, id))
}

pub(crate) fn add_project_members(organization: &Slug, id: ProjectId) -> String {
    format!("{}/add-members", project(organization, id))
}

pub(crate) fn remove_project_member(organization: &Slug, id: ProjectId) -> String {
    format!("{}/remove-member", project(organization, id))
}

pub(crate) fn api_keys(organization: &Slug) -> String {
    format!("/organizations/{organization}/settings/api-keys")
}

pub(crate) fn audit_log(organization: &Slug) -> String {
    format!("/organizations/{organization}/settings/audit-log")
}

pub(crate) fn audit_log_csv(organization: &Slug) -> String {
    format!("{}/export.csv", audit_log(organization))
}

pub(crate) fn audit_log_json_lines(organization: &Slug) -> String {
    format!("{}/export.jsonl", audit_log(organization))
}

pub(crate) fn new_api_key(organization: &Slug) -> String {
    format!("{}/new", api_keys(organization))
}

pub(crate) fn edit_api_key(organization: &Slug, key: ApiKeyId) -> String {
    format!("{}/{key}/edit", api_keys(organization))
}

pub(crate) fn revoke_api_key(organization: &Slug, key: ApiKeyId) -> String {
    format!("{}/{key}/revoke", api_keys(organization))
}

pub(crate) fn end_session(session: SessionId) -> String {
    format!("/account/sessions/{session}/end")
}

pub(crate) fn organization_keys(organization: &Slug) -> String {
    format!("{}/all", api_keys(organization))
}

pub(crate) fn keys_of(organization: &Slug, consumer: ConsumerId, status: Option<&str>) -> String {
    with_query(
        &organization_keys(organization),
        [("status", status), ("holder", Some(&*consumer.to_string()))],
    )
}

pub(crate) fn organization_key(organization: &Slug, key: ApiKeyId) -> String {
    format!("{}/{key}", organization_keys(organization))
}

pub(crate) fn revoke_organization_keys(organization: &Slug) -> String {
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
