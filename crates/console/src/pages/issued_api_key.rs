//! The only page that ever shows a token: the answer to the form that created the key.

use askama::Template;
use keyward_domain::keys::IssuedKey;
use keyward_domain::public_url::PublicUrl;

use crate::links;
use crate::pages::settings::{Section, Settings};
use crate::viewer::Insider;

#[derive(Template)]
#[template(path = "issued_api_key.html")]
pub(super) struct IssuedApiKeyPage<'a> {
    settings: Settings,
    name: &'a str,
    token: &'a str,
    public_url: &'a PublicUrl,
    list: String,
}

impl<'a> IssuedApiKeyPage<'a> {
    pub(super) fn new(insider: &Insider, issued: &'a IssuedKey, public_url: &'a PublicUrl) -> Self {
        Self {
            settings: Settings::new(insider, Section::ApiKeys),
            name: issued.key.name.as_str(),
            token: issued.token.expose(),
            public_url,
            list: links::api_keys(&insider.member.organization.slug),
        }
    }
}
