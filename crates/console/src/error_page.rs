//! The page for a request that failed.

use askama::Template;
use poem::Response;
use poem::http::StatusCode;

use crate::answer::rendered;
use crate::headers;
use crate::user_menu::UserMenu;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorTemplate<'a> {
    status: u16,
    title: &'a str,
    text: &'a str,
    request_id: &'a str,
    menu: Option<UserMenu>,
}

/// The page for an error status, with the request id and links to other pages. It calls nothing that can
/// fail, so that the front door can use it, too.
#[must_use]
pub fn error_page(status: StatusCode, request_id: &str) -> Response {
    ErrorPage::new(status).into_response(request_id)
}

/// An error page with its own title and text.
pub(crate) struct ErrorPage<'a> {
    status: StatusCode,
    title: &'a str,
    text: &'a str,
    /// Absent if the user is not signed in.
    menu: Option<UserMenu>,
}

impl<'a> ErrorPage<'a> {
    /// The usual words for a status.
    pub(crate) fn new(status: StatusCode) -> Self {
        let (title, text) = usual_words(status);
        Self {
            status,
            title,
            text,
            menu: None,
        }
    }

    /// The usual words for the answer to a GET request, with which no form can have taken effect.
    pub(crate) fn without_form(status: StatusCode) -> Self {
        match status {
            StatusCode::SERVICE_UNAVAILABLE => Self::new(status).with_text(
                "Temporarily unavailable",
                "Wait a few seconds, then try again. If it lasts, tell your administrator.",
            ),
            other => Self::new(other),
        }
    }

    pub(crate) fn with_text(self, title: &'a str, text: &'a str) -> Self {
        Self { title, text, ..self }
    }

    pub(crate) fn with_menu(self, menu: Option<UserMenu>) -> Self {
        Self { menu, ..self }
    }

    pub(crate) fn into_response(self, request_id: &str) -> Response {
        let template = ErrorTemplate {
            status: self.status.as_u16(),
            title: self.title,
            text: self.text,
            request_id,
            menu: self.menu,
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
            "Bad request",
            "The link or the form is incomplete. Go to Keyward and try again from there.",
        ),
        StatusCode::FORBIDDEN => (
            "Not allowed",
            "You don’t have permission to do this. Nothing was changed.",
        ),
        StatusCode::NOT_FOUND => ("Page not found", "It doesn’t exist, or you don’t have access."),
        StatusCode::METHOD_NOT_ALLOWED => (
            "Method not allowed",
            "This page cannot be used this way. Go to Keyward and try again from there.",
        ),
        StatusCode::REQUEST_TIMEOUT => (
            "Request timed out",
            "The connection was too slow. Nothing was changed. Go back and send the form again.",
        ),
        StatusCode::GONE => ("No longer available", "It has been used or has expired."),
        StatusCode::PAYLOAD_TOO_LARGE => (
            "The form is too large",
            "Nothing was changed. Go back, shorten the text and send the form again.",
        ),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "Unsupported request",
            "The console only accepts forms from its own pages. Scripts and services use the API with a key.",
        ),
        StatusCode::TOO_MANY_REQUESTS => ("Too many requests", "Wait a moment, then try again."),
        StatusCode::SERVICE_UNAVAILABLE => (
            "Temporarily unavailable",
            "Wait a few seconds, then try again. If it lasts, tell your administrator. If you sent a form, check whether it \
             took effect before you send it again.",
        ),
        other if other.is_server_error() => (
            "Something went wrong",
            "An internal error occurred. Try again. If it happens again, give your administrator the request ID below.",
        ),
        _ => ("Something went wrong", "Go to Keyward and try again from there."),
    }
}
