//! The output of a demo.

use keyward_domain::public_url::PublicUrl;
use keyward_http_api::paths;
use zeroize::Zeroizing;

use super::fill::Access;

/// Some of the people of the first organization.
const OTHERS: &str = "grace, omar, maximiliane, quentin";

/// The URL, a username, its password and a `curl` command with a key, in lines that can be copied.
pub(super) fn text(public_url: &PublicUrl, access: &Access) -> Zeroizing<String> {
    Zeroizing::new(format!(
        "Keyward is at {public_url} with made-up data, for a look around.

Sign in to the console:

  {public_url}/sign-in
  username: {username}
  password: {password}

It is also the password of {others} and all other users on the page Members.

Ask the API:

  export KEYWARD_API_KEY={token}
  curl -H \"Authorization: Bearer $KEYWARD_API_KEY\" '{public_url}{api_keys}'
  curl -H \"Authorization: Bearer $KEYWARD_API_KEY\" '{public_url}{projects}'

The API, to read and to try: {public_url}{reference}

Ctrl-C ends it, and everything in it is gone.
",
        api_keys = paths::API_KEYS,
        projects = paths::PROJECTS,
        reference = paths::REFERENCE,
        username = access.username,
        password = access.password.expose(),
        others = OTHERS,
        token = access.token.expose(),
    ))
}
