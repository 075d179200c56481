//! The addresses of the console's pages.

use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Slug;
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
/// Not the console's page, but at the same address for everyone.
pub(crate) const API_REFERENCE: &str = "/docs";

pub(crate) fn general(organization: &Slug) -> String {
    format!("/organizations/{organization}/settings/general")
}

pub(crate) fn api_keys(organization: &Slug) -> String {
    format!("/organizations/{organization}/settings/api-keys")
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

/// What the sign-in page says above its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInNotice {
    /// The first run is completed.
    SetUp,
    /// They have just signed out.
    SignedOut,
    /// They sent a form when their session had ended.
    FormNotSent,
}

impl SignInNotice {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::SignedOut => "signed-out",
            Self::FormNotSent => "form-not-sent",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::SetUp, Self::SignedOut, Self::FormNotSent]
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
