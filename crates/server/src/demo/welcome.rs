//! What a demo prints.

use keyward_domain::public_url::PublicUrl;
use keyward_http_api::paths;
use zeroize::Zeroizing;

use super::fill::Access;
use super::happening::Happening;
use super::keys::HISTORY;
use super::organization::OWNER;

/// Where it is and how to get in: lines that can be copied as they are.
pub(super) fn text(public_url: &PublicUrl, Access { password, token }: &Access) -> Zeroizing<String> {
    Zeroizing::new(format!(
        "Keyward is at {public_url} with made-up data, for a look around.

Sign in to the console:

  {public_url}/sign-in
  username: {owner}
  password: {password}

It is also the password of {others} and everybody else on the page Members.

Ask the API:

  export KEYWARD_API_KEY={token}
  curl -H \"Authorization: Bearer $KEYWARD_API_KEY\" '{public_url}{api_keys}'
  curl -H \"Authorization: Bearer $KEYWARD_API_KEY\" '{public_url}{projects}'

Every operation, to read and to try: {public_url}{reference}

Ctrl-C ends it, and everything in it is gone.
",
        api_keys = paths::API_KEYS,
        projects = paths::PROJECTS,
        reference = paths::REFERENCE,
        owner = OWNER.username,
        password = password.expose(),
        others = others().join(", "),
        token = token.expose(),
    ))
}

fn others() -> Vec<&'static str> {
    let username = |happening: &Happening| {
        if let Happening::Joins(person) = happening {
            Some(person.username)
        } else {
            None
        }
    };
    HISTORY
        .iter()
        .filter_map(|(_, happening)| username(happening))
        .collect()
}
