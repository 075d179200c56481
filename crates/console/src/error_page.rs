//! What people see when something is not there, not allowed or not working.

use askama::Template;
use keyward_domain::organization::Organization;
use poem::Response;
use poem::http::StatusCode;

use crate::answer::rendered;
use crate::headers;
use crate::links::Link;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorTemplate<'a> {
    status: u16,
    title: &'a str,
    text: &'a str,
    request_id: &'a str,
    organizations: Vec<Link>,
}

/// A page that says in plain words what a status means, with the request's id and a way on. It needs nothing that could
/// fail, so that it can also stand in where the application never got to answer.
#[must_use]
pub fn error_page(status: StatusCode, request_id: &str) -> Response {
    ErrorPage::new(status).into_response(request_id)
}

/// An error page with words of its own.
pub(crate) struct ErrorPage<'a> {
    status: StatusCode,
    title: &'a str,
    text: &'a str,
    /// Where whoever asked can go instead.
    organizations: Vec<Link>,
}

impl<'a> ErrorPage<'a> {
    /// The usual words for a status.
    pub(crate) fn new(status: StatusCode) -> Self {
        let (title, text) = usual_words(status);
        Self {
            status,
            title,
            text,
            organizations: Vec::new(),
        }
    }

    pub(crate) fn saying(self, title: &'a str, text: &'a str) -> Self {
        Self { title, text, ..self }
    }

    /// Offers the way to these.
    pub(crate) fn leading_to(self, organizations: &[Organization]) -> Self {
        Self {
            organizations: organizations.iter().map(Link::to_keys_in).collect(),
            ..self
        }
    }

    pub(crate) fn into_response(self, request_id: &str) -> Response {
        let template = ErrorTemplate {
            status: self.status.as_u16(),
            title: self.title,
            text: self.text,
            request_id,
            organizations: self.organizations,
        };
        let page = Response::builder().status(self.status);
        let mut response = match rendered(&template) {
            Ok(body) => page.content_type("text/html; charset=utf-8").body(body),
            Err(_) => page
                .content_type("text/plain; charset=utf-8")
                .body(format!("{}\n", self.title)),
        };
        let response_headers = response.headers_mut();
        headers::set(response_headers, true);
        response
    }
}

fn usual_words(status: StatusCode) -> (&'static str, &'static str) {
    match status {
        StatusCode::BAD_REQUEST => (
            "This request could not be read",
            "The address or the form is damaged. Go back to Keyward and start from there.",
        ),
        StatusCode::FORBIDDEN => (
            "This is not allowed",
            "You may not do this, so nothing was changed.",
        ),
        StatusCode::NOT_FOUND => (
            "There is nothing here",
            "The page does not exist, or you do not have access to it.",
        ),
        StatusCode::METHOD_NOT_ALLOWED => (
            "This address works differently",
            "The address exists, but it cannot be used in this way. Go back to Keyward and start from there.",
        ),
        StatusCode::REQUEST_TIMEOUT => (
            "The form did not arrive in time",
            "The connection was too slow, so nothing was changed. Go back and send the form again.",
        ),
        StatusCode::GONE => (
            "This is no longer here",
            "What was here has been used or has ended.",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (
            "The form is too large",
            "Nothing was changed. Go back, shorten what you wrote and send it again.",
        ),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "This is not a form",
            "The console reads forms of its own pages only. Programs use the API with a key.",
        ),
        StatusCode::TOO_MANY_REQUESTS => ("Too many requests", "Wait a moment, then try again."),
        StatusCode::SERVICE_UNAVAILABLE => (
            "Keyward cannot answer at the moment",
            "Your keys are safe. Wait a few seconds, then try again. If you sent a form, look whether it was done \
             before you send it again.",
        ),
        other if other.is_server_error() => (
            "Something went wrong in Keyward",
            "This is not your fault. Try again; if it happens again, tell your administrator the request id below.",
        ),
        _ => ("This did not work", "Go back to Keyward and start from there."),
    }
}
