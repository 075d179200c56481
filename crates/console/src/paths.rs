//! The paths of the console, each written once: nested as they lead to one another, each with the types of what differs.
//! Every entry makes a type that displays the path and has the pattern by which the table of routes finds it.

use std::fmt::{self, Display, Formatter};

use keyward_domain::id::{ApiKeyId, InvitationId, MembershipId, ProjectId, SessionId};
use keyward_domain::invitation::InvitationToken;
use keyward_domain::organization::Slug;
use keyward_domain::public_url::PublicUrl;
use keyward_domain::sign_in::setup::SetupToken;
use keyward_domain::user::Username;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::local_path::LocalPath;

/// All but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The names of the parameters in patterns: an organization's slug, and the identifier of an object in it.
pub(crate) const SLUG: &str = "slug";
pub(crate) const ID: &str = "id";

/// `Name(parameter: Type) = "/segment" { paths below it }`. A path below another one has the parameters of both.
macro_rules! paths {
    (@below $above:tt $inherited:tt) => {};
    (@below [$($above:tt)*] [$($inherited:tt)*]
        $name:ident $(($own:ident: $type:ty))? = $segment:literal { $($below:tt)* } $($rest:tt)*
    ) => {
        path! { $name [$($inherited)* $($own: $type,)?] [$($above)* $segment] }
        paths! { @below [$($above)* $segment] [$($inherited)* $($own: $type,)?] $($below)* }
        paths! { @below [$($above)*] [$($inherited)*] $($rest)* }
    };
    (@below $above:tt $inherited:tt $name:ident $(($own:ident: $type:ty))? = $segment:literal; $($rest:tt)*) => {
        paths! { @below $above $inherited $name $(($own: $type))? = $segment {} $($rest)* }
    };
    ($($entries:tt)*) => { paths! { @below [] [] $($entries)* } };
}

macro_rules! path {
    ($name:ident [] [$($segment:literal)+]) => {
        pub(crate) struct $name;

        impl $name {
            pub(crate) const PATTERN: &'static str = concat!($($segment),+);
        }

        impl Display for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str(Self::PATTERN)
            }
        }
    };
    ($name:ident [$($parameter:ident: $type:ty,)+] [$($segment:literal)+]) => {
        pub(crate) struct $name<'a>($(pub(crate) &'a $type),+);

        impl $name<'_> {
            pub(crate) const PATTERN: &'static str = concat!($($segment),+);
        }

        impl Display for $name<'_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                let Self($($parameter),+) = self;
                write!(f, concat!($($segment),+), $($parameter = $parameter),+)
            }
        }
    };
}

paths! {
    Home = "/";
    Setup = "/setup";
    SignIn = "/sign-in";
    SignOut = "/sign-out";
    Join = "/join";
    Account = "/account" {
        ChangePassword = "/password";
        EndOtherSessions = "/sessions/end-others";
        EndSession(id: SessionId) = "/sessions/{id}/end";
    }
    WellKnownChangePassword = "/.well-known/change-password";
    Asset(name: str) = "/assets/{name}";
    Organizations = "/organizations" {
        Organization(slug: Slug) = "/{slug}" {
            Settings = "/settings" {
                General = "/general" {
                    ChooseForNewKeys = "/new-keys";
                    LimitKeyLife = "/key-life" {
                        ApplyKeyLife = "/apply";
                    }
                    Leave = "/leave";
                }
                Members = "/members" {
                    Invite = "/invite";
                    Invitations = "/invitations" {
                        RevokeInvitation(id: InvitationId) = "/{id}/revoke";
                    }
                    Member(id: MembershipId) = "/{id}" {
                        ChangeRole = "/role";
                        MemberExpiration = "/expiration";
                        RemoveMember = "/remove";
                    }
                }
                Projects = "/projects" {
                    NewProject = "/new";
                    Project(id: ProjectId) = "/{id}" {
                        ArchiveProject = "/archive";
                        RestoreProject = "/restore";
                        AddProjectMembers = "/add-members";
                        RemoveProjectMember = "/remove-member";
                    }
                }
                ApiKeys = "/api-keys" {
                    NewApiKey = "/new";
                    EditApiKey(id: ApiKeyId) = "/{id}/edit";
                    RotateApiKey(id: ApiKeyId) = "/{id}/rotate";
                    RevokeApiKey(id: ApiKeyId) = "/{id}/revoke";
                    OrganizationKeys = "/all" {
                        OrganizationKey(id: ApiKeyId) = "/{id}";
                        RevokeOrganizationKeys = "/revoke";
                    }
                }
                AuditLog = "/audit-log" {
                    AuditLogCsv = "/export.csv";
                    AuditLogJsonLines = "/export.jsonl";
                }
            }
        }
    }
}

/// The sign-in page, which leads on to another.
pub(crate) fn sign_in(next: Option<&LocalPath>) -> String {
    with_query(SignIn, [("next", next.map(LocalPath::as_str))])
}

/// The one-time link of an invitation, with which one person can join.
#[must_use]
pub fn invitation_link(public_url: &PublicUrl, token: &InvitationToken) -> String {
    public_url.to_string() + &with_query(Join, [("token", Some(token.expose()))])
}

/// The one-time link of the first-run setup, with which one person becomes the first owner.
#[must_use]
pub fn setup_link(public_url: &PublicUrl, token: &SetupToken) -> String {
    public_url.to_string() + &with_query(Setup, [("token", Some(token.expose()))])
}

/// Leads to the page of the member who signs in with this name.
pub(crate) fn member_named(organization: &Slug, username: &Username) -> String {
    format!("{}/@{username}", Members(organization))
}

/// A path with those fields that have a value.
pub(crate) fn with_query<'a>(
    path: impl Display,
    fields: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> String {
    let mut url = path.to_string();
    let mut separator = '?';
    for (name, value) in fields {
        if let Some(value) = value {
            url.push(separator);
            url.push_str(name);
            url.push('=');
            url.extend(utf8_percent_encode(value, RESERVED));
            separator = '&';
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use keyward_domain::testing::{Builder, SeededRandom};

    use super::*;

    #[test]
    fn nested_path_has_the_parameters_of_both() {
        let slug = Slug::parse("acme").expect("a slug");
        let id: ProjectId = Builder::new(1).ids.next();
        assert_eq!(
            ArchiveProject(&slug, &id).to_string(),
            format!("/organizations/acme/settings/projects/{id}/archive")
        );
        assert_eq!(
            ArchiveProject::PATTERN,
            "/organizations/{slug}/settings/projects/{id}/archive"
        );
    }

    #[test]
    fn one_time_links_contain_their_tokens() {
        let url = PublicUrl::parse("https://keys.example.com/").expect("a URL");
        let token = SetupToken::generate(&SeededRandom::new(1));
        let expected = format!("https://keys.example.com/setup?token={}", token.expose());
        assert_eq!(setup_link(&url, &token), expected);
        let token = InvitationToken::generate(&SeededRandom::new(1));
        let expected = format!("https://keys.example.com/join?token={}", token.expose());
        assert_eq!(invitation_link(&url, &token), expected);
    }

    #[test]
    fn query_omits_fields_without_a_value() {
        let fields = [("a", None), ("b", Some("x y")), ("c", Some("é&"))];
        assert_eq!(with_query(Home, fields), "/?b=x%20y&c=%C3%A9%26");
        assert_eq!(with_query(Account, []), "/account");
    }
}
