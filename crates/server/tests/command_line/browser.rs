//! Requests to the console, with which tests see the effect of a command.

use crate::server::{HttpAnswer, Server};

const NEW_KEY: &str = "/organizations/acme-sons/settings/api-keys/new";

/// Submits the sign-in form as a browser does.
pub(crate) fn sign_in(server: &Server, username: &str, password: &str) -> HttpAnswer {
    let form = format!("username={username}&password={}", password.replace(' ', "+"));
    send(server, "/sign-in", "", &form)
}

/// The cookie that a response sets, as a browser sends it back.
pub(crate) fn cookie(signed_in: &HttpAnswer) -> &str {
    let cookie = signed_in.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap()
}

/// The `Location` to which `/` redirects a browser with this cookie.
pub(crate) fn front_page_leads_to(server: &Server, cookie: &str) -> String {
    let answer = server.ask("GET", "/", &[&format!("Cookie: {cookie}")], "");
    answer.header("location").unwrap().to_owned()
}

/// Opens the form for a new key and submits it.
pub(crate) fn create_key(server: &Server, cookie: &str, name: &str) -> HttpAnswer {
    let form = server.ask("GET", NEW_KEY, &[&format!("Cookie: {cookie}")], "");
    let (_, rest) = form.body.split_once("name=\"idempotency_key\" value=\"").unwrap();
    let (idempotency_key, _) = rest.split_once('"').unwrap();
    send(
        server,
        NEW_KEY,
        cookie,
        &format!("idempotency_key={idempotency_key}&name={name}&description="),
    )
}

/// Submits a form as a browser does on a page of the console.
pub(crate) fn send(server: &Server, path: &str, cookie: &str, form: &str) -> HttpAnswer {
    let form = match user_of_forms(server, cookie) {
        Some(user) => format!("user={user}&{form}"),
        None => form.to_owned(),
    };
    let cookie = format!("Cookie: {cookie}");
    let headers = [
        "Sec-Fetch-Site: same-origin",
        "Content-Type: application/x-www-form-urlencoded",
        &cookie,
    ];
    server.ask("POST", path, &headers, &form)
}

/// The hidden field that says whose page a form is on.
fn user_of_forms(server: &Server, cookie: &str) -> Option<String> {
    if cookie.is_empty() {
        return None;
    }
    let page = server.ask("GET", "/account", &[&format!("Cookie: {cookie}")], "");
    let (_, rest) = page.body.split_once("name=\"user\" value=\"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// The API key's token that a page shows.
pub(crate) fn token_in(page: &str) -> &str {
    const LENGTH: usize = 42;
    page.match_indices("kwp_")
        .filter_map(|(at, _)| page.get(at..at + LENGTH))
        .find(|text| text.bytes().skip(4).all(|byte| byte.is_ascii_alphanumeric()))
        .unwrap()
}
