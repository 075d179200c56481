//! The table: who gets which answer.
//!
//! Allowed requests are sent in the order of the rows, so a request that ends an object comes after all that need it.

use self::Answer::{
    BadForm, Conflict, Done, Forbidden, Gone, NotFound, Refilled, SignIn, SignedOut, Unaffected, Unauthorized,
};
use self::On::{Asset, Bystander, HeldKey, Invitation, KeyOfApi, Nothing, OwnKey, Project, Session};
use super::visitors::VISITORS;

/// The answer to a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// 2xx, or 303 that does not lead to the sign-in page.
    Done,
    /// The session is ended: 303 to the sign-in page, which says so.
    SignedOut,
    /// As `Done`, but nothing changes: the object belongs to another user, and the answer is the same as for
    /// one that has already ended.
    Unaffected,
    /// 303 to the sign-in page.
    SignIn,
    /// 400: the form says nothing that could be done.
    BadForm,
    /// 401: not authenticated.
    Unauthorized,
    /// 403: the page says to sign in first, or the request is not signed.
    Forbidden,
    /// 404: unknown, or not for this caller.
    NotFound,
    /// 409: a rule of the product forbids it.
    Conflict,
    /// 410: no longer available.
    Gone,
    /// 422: the form is shown again with its errors.
    Refilled,
}

impl Answer {
    /// Whether nothing may be different afterwards.
    pub(super) const fn is_refusal(self) -> bool {
        match self {
            Done | SignedOut => false,
            Unaffected | SignIn | BadForm | Unauthorized | Forbidden | NotFound | Conflict | Gone
            | Refilled => true,
        }
    }
}

/// The object of a request, the same for all visitors: it belongs to the organization or to its member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Nothing,
    Asset,
    /// A key of the member, for the API to change.
    KeyOfApi,
    /// A key of the member, for the member's pages to change.
    OwnKey,
    /// A key of the member, for the owner's pages to change.
    HeldKey,
    /// A project that the member is in and the owner is not.
    Project,
    /// The membership of a user who sends no requests.
    Bystander,
    Invitation,
    /// Another session of the member.
    Session,
}

/// One operation, and the answer to each visitor.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) on: On,
    /// The form, the JSON object of the API (with values in JSON or as texts), or the query.
    pub(super) fields: &'static [(&'static str, &'static str)],
    /// In the order of [`VISITORS`].
    pub(super) expected: Expected,
}

type Expected = [Answer; VISITORS.len()];
type Fields = &'static [(&'static str, &'static str)];

const fn row(method: &'static str, path: &'static str, on: On, fields: Fields, expected: Expected) -> Row {
    Row {
        method,
        path,
        on,
        fields,
        expected,
    }
}

const fn get(path: &'static str, on: On, expected: Expected) -> Row {
    row("GET", path, on, &[], expected)
}

const fn post(path: &'static str, on: On, fields: Fields, expected: Expected) -> Row {
    row("POST", path, on, fields, expected)
}

// Columns: anonymous, member, owner, owner of another organization, former member, key instead of session,
// session instead of key (the console answers a bearer token with 404), verifier (anonymous but for introspection).
#[rustfmt::skip]
mod expected {
    use super::Answer::{
        BadForm, Conflict, Done, Forbidden, Gone, NotFound, Refilled, SignIn, SignedOut, Unaffected, Unauthorized,
    };
    use super::Expected;

    // The API.
    pub(super) const ANY_KEY: Expected =
        [Unauthorized, Done, Done, Done, Unauthorized, Unauthorized, Unauthorized, Unauthorized];
    pub(super) const MEMBERS_KEY: Expected =
        [Unauthorized, Done, NotFound, NotFound, Unauthorized, Unauthorized, Unauthorized, Unauthorized];
    pub(super) const VERIFIERS: Expected = [
        Unauthorized, Unauthorized, Unauthorized, Unauthorized, Unauthorized, Unauthorized, Unauthorized, Done,
    ];
    pub(super) const PUBLIC_API: Expected = [Done; 8];
    pub(super) const UNSIGNED: Expected = [Forbidden; 8];
    // The console.
    pub(super) const PUBLIC_PAGE: Expected = [Done, Done, Done, Done, Done, Done, NotFound, Done];
    pub(super) const SIGNED_IN: Expected = [SignIn, Done, Done, Done, Done, SignIn, NotFound, SignIn];
    pub(super) const INSIDERS: Expected = [SignIn, Done, Done, NotFound, NotFound, SignIn, NotFound, SignIn];
    pub(super) const THE_MEMBER: Expected = [SignIn, Done, NotFound, NotFound, NotFound, SignIn, NotFound, SignIn];
    pub(super) const OWNERS: Expected = [SignIn, NotFound, Done, NotFound, NotFound, SignIn, NotFound, SignIn];
    pub(super) const LAST_OWNER_STAYS: Expected =
        [SignIn, Done, Conflict, NotFound, NotFound, SignIn, NotFound, SignIn];
    pub(super) const OWN_SESSION: Expected =
        [SignIn, Done, Unaffected, Unaffected, Unaffected, SignIn, NotFound, SignIn];
    pub(super) const NEEDS_PASSWORD: Expected =
        [SignIn, Refilled, Refilled, Refilled, Refilled, SignIn, NotFound, SignIn];
    pub(super) const SIGNING_OUT: Expected =
        [SignedOut, SignedOut, SignedOut, SignedOut, SignedOut, SignedOut, NotFound, SignedOut];
    pub(super) const NO_FIELDS: Expected = [BadForm, BadForm, BadForm, BadForm, BadForm, BadForm, NotFound, BadForm];
    pub(super) const ALL_BUT_FORMER_MEMBER: Expected = [Done, Done, Done, Done, NotFound, Done, NotFound, Done];
    pub(super) const SIGNED_IN_NON_MEMBERS: Expected =
        [Forbidden, Conflict, Conflict, Done, NotFound, Forbidden, NotFound, Forbidden];
    pub(super) const IS_SET_UP: Expected = [Gone, Gone, Gone, Gone, Gone, Gone, NotFound, Gone];
}
use expected::{
    ALL_BUT_FORMER_MEMBER, ANY_KEY, INSIDERS, IS_SET_UP, LAST_OWNER_STAYS, MEMBERS_KEY, NEEDS_PASSWORD,
    NO_FIELDS, OWN_SESSION, OWNERS, PUBLIC_API, PUBLIC_PAGE, SIGNED_IN, SIGNED_IN_NON_MEMBERS, SIGNING_OUT,
    THE_MEMBER, UNSIGNED, VERIFIERS,
};

const CONFIRMED: Fields = &[("confirm", "yes")];

/// The API: keys read and change keys of their own consumer, and nothing else; they introspect no tokens.
pub(super) const API: &[Row] = &[
    get("/api/v1/user", Nothing, ANY_KEY),
    get("/api/v1/auth", Nothing, ANY_KEY),
    post(
        "/api/v1/auth",
        Nothing,
        &[("name", "for the service behind the gateway")],
        ANY_KEY,
    ),
    row("DELETE", "/api/v1/auth/orders/7", Nothing, &[], ANY_KEY),
    post("/api/v1/introspect", Nothing, &[("token", "kwp_")], VERIFIERS),
    // Anyone with a token may report it; this one is unknown.
    post(
        "/api/v1/leaked-keys",
        Nothing,
        &[(
            "tokens",
            r#"[{"token": "kwp_0123456789ABCDEFGHIJKLMNOPQRSTUV1ggZdL"}]"#,
        )],
        PUBLIC_API,
    ),
    // For GitHub, which is none of the visitors.
    post("/api/v1/leaked-keys/github", Nothing, &[], UNSIGNED),
    get("/api/v1/user/projects", Nothing, ANY_KEY),
    get("/api/v1/user/projects/{id}", Project, MEMBERS_KEY),
    get("/api/v1/user/api-keys", Nothing, ANY_KEY),
    post(
        "/api/v1/user/api-keys",
        Nothing,
        &[("name", "from a key")],
        ANY_KEY,
    ),
    get("/api/v1/user/api-keys/{id}", KeyOfApi, MEMBERS_KEY),
    row(
        "PATCH",
        "/api/v1/user/api-keys/{id}",
        KeyOfApi,
        &[("name", "renamed")],
        MEMBERS_KEY,
    ),
    post(
        "/api/v1/user/api-keys/{id}/rotate",
        KeyOfApi,
        &[("graceSeconds", "3600")],
        MEMBERS_KEY,
    ),
    row("DELETE", "/api/v1/user/api-keys/{id}", KeyOfApi, &[], MEMBERS_KEY),
];

/// The console's routes.
#[rustfmt::skip]
pub(super) const CONSOLE: &[Row] = &[
    // For all visitors. The form of the setup has no effect, because the installation is set up.
    get("/", Nothing, [SignIn, Done, Done, Done, Done, SignIn, NotFound, SignIn]),
    get("/.well-known/change-password", Nothing, PUBLIC_PAGE),
    get("/assets/:name", Asset, PUBLIC_PAGE),
    get("/setup", Nothing, IS_SET_UP),
    post("/setup", Nothing, &[("token", "made up")], IS_SET_UP),
    row("GET", "/join", Nothing, &[("token", "{link}")], ALL_BUT_FORMER_MEMBER),
    post("/join", Nothing, &[("token", "{link}"), ("as", "user"), ("username", "{username}")],
        SIGNED_IN_NON_MEMBERS),
    post("/sign-in", Nothing, &[], NO_FIELDS),

    // The organization.
    get("/organizations/:slug", Nothing, INSIDERS),
    get("/organizations/:slug/settings", Nothing, INSIDERS),
    get("/organizations/:slug/settings/general", Nothing, INSIDERS),
    get("/organizations/:slug/settings/general/new-keys", Nothing, INSIDERS),
    post("/organizations/:slug/settings/general/new-keys", Nothing, &[("manage_keys", "no")], OWNERS),
    get("/organizations/:slug/settings/general/key-life", Nothing, INSIDERS),
    post("/organizations/:slug/settings/general/key-life", Nothing, &[("days", "3650")], OWNERS),

    // A member's own keys.
    get("/organizations/:slug/settings/api-keys", Nothing, INSIDERS),
    get("/organizations/:slug/settings/api-keys/new", Nothing, INSIDERS),
    post("/organizations/:slug/settings/api-keys/new", Nothing,
        &[("idempotency_key", "{idempotency_key}"), ("name", "from a form"), ("description", ""), ("manage_keys", "yes")],
        INSIDERS),
    get("/organizations/:slug/settings/api-keys/:id/edit", OwnKey, THE_MEMBER),
    post("/organizations/:slug/settings/api-keys/:id/edit", OwnKey,
        &[("version", "{version}"), ("name", "edited"), ("description", "")], THE_MEMBER),
    get("/organizations/:slug/settings/api-keys/:id/rotate", OwnKey, THE_MEMBER),
    post("/organizations/:slug/settings/api-keys/:id/rotate", OwnKey,
        &[("idempotency_key", "00000000000000000000000000000001"), ("old_key_ends", "after_a_day")], THE_MEMBER),
    get("/organizations/:slug/settings/api-keys/:id/revoke", OwnKey, THE_MEMBER),
    post("/organizations/:slug/settings/api-keys/:id/revoke", OwnKey, CONFIRMED, THE_MEMBER),

    // The keys of all members of the organization.
    get("/organizations/:slug/settings/api-keys/all", Nothing, OWNERS),
    get("/organizations/:slug/settings/api-keys/all/:id", HeldKey, OWNERS),
    get("/organizations/:slug/settings/api-keys/all/revoke", Nothing, OWNERS),
    post("/organizations/:slug/settings/api-keys/all/revoke", Nothing,
        &[("key-{held key}", "on"), ("note", "leaked"), ("confirm", "yes")], OWNERS),
    get("/organizations/:slug/settings/general/key-life/apply", Nothing, OWNERS),
    post("/organizations/:slug/settings/general/key-life/apply", Nothing,
        &[("days", "3650"), ("confirm", "yes")], OWNERS),

    // Projects.
    get("/organizations/:slug/settings/projects", Nothing, INSIDERS),
    get("/organizations/:slug/settings/projects/new", Nothing, OWNERS),
    post("/organizations/:slug/settings/projects/new", Nothing,
        &[("idempotency_key", "{idempotency_key}"), ("name", "Another")], OWNERS),
    get("/organizations/:slug/settings/projects/:id", Project, OWNERS),
    post("/organizations/:slug/settings/projects/:id", Project, &[("name", "Renamed")], OWNERS),
    get("/organizations/:slug/settings/projects/:id/add-members", Project, OWNERS),
    post("/organizations/:slug/settings/projects/:id/add-members", Project,
        &[("member", "{bystander}")], OWNERS),
    get("/organizations/:slug/settings/projects/:id/remove-member", Project, OWNERS),
    post("/organizations/:slug/settings/projects/:id/remove-member", Project,
        &[("member", "{bystander}")], OWNERS),
    get("/organizations/:slug/settings/projects/:id/archive", Project, OWNERS),
    post("/organizations/:slug/settings/projects/:id/archive", Project, CONFIRMED, OWNERS),
    get("/organizations/:slug/settings/projects/:id/restore", Project, OWNERS),
    post("/organizations/:slug/settings/projects/:id/restore", Project, &[], OWNERS),

    // Members and invitations.
    get("/organizations/:slug/settings/members", Nothing, OWNERS),
    get("/organizations/:slug/settings/members/invite", Nothing, OWNERS),
    post("/organizations/:slug/settings/members/invite", Nothing,
        &[("idempotency_key", "{idempotency_key}"), ("invitee", "Somebody"), ("role", "owner")], OWNERS),
    get("/organizations/:slug/settings/members/invitations", Nothing, OWNERS),
    get("/organizations/:slug/settings/members/invitations/:id/revoke", Invitation, OWNERS),
    post("/organizations/:slug/settings/members/invitations/:id/revoke", Invitation, &[], OWNERS),
    get("/organizations/:slug/settings/members/:id", Bystander, OWNERS),
    get("/organizations/:slug/settings/members/:id/role", Bystander, OWNERS),
    post("/organizations/:slug/settings/members/:id/role", Bystander,
        &[("role", "owner"), ("confirm", "yes")], OWNERS),
    get("/organizations/:slug/settings/members/:id/expiration", Bystander, OWNERS),
    post("/organizations/:slug/settings/members/:id/expiration", Bystander, &[("expiration", "90")], OWNERS),
    get("/organizations/:slug/settings/members/:id/remove", Bystander, OWNERS),
    post("/organizations/:slug/settings/members/:id/remove", Bystander, CONFIRMED, OWNERS),

    // What happened.
    get("/organizations/:slug/settings/audit-log", Nothing, OWNERS),
    get("/organizations/:slug/settings/audit-log/export.csv", Nothing, OWNERS),
    get("/organizations/:slug/settings/audit-log/export.jsonl", Nothing, OWNERS),

    // Leaving.
    get("/organizations/:slug/settings/general/leave", Nothing, INSIDERS),
    post("/organizations/:slug/settings/general/leave", Nothing, CONFIRMED, LAST_OWNER_STAYS),

    // One's own account, and the end of the visit.
    get("/account", Nothing, SIGNED_IN),
    get("/account/password", Nothing, SIGNED_IN),
    post("/account/password", Nothing,
        &[("current_password", ""), ("new_password", "nine grey geese glide")], NEEDS_PASSWORD),
    get("/account/sessions/:id/end", Session, SIGNED_IN),
    post("/account/sessions/:id/end", Session, &[], OWN_SESSION),
    get("/account/sessions/end-others", Nothing, SIGNED_IN),
    post("/account/sessions/end-others", Nothing, &[], SIGNED_IN),
    get("/sign-in", Nothing, PUBLIC_PAGE),
    post("/sign-out", Nothing, &[], SIGNING_OUT),
];
