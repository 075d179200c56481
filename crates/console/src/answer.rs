//! Building blocks of responses.

use std::fmt::Display;

use askama::Template;
use poem::Response;
use poem::http::{StatusCode, header};

/// Renders a page, with the final line feed that templates drop.
pub(crate) fn rendered(template: &impl Template) -> askama::Result<String> {
    let mut page = template.render()?;
    page.push('\n');
    Ok(page)
}

/// A page with a status.
pub(crate) fn html(status: StatusCode, template: &impl Template) -> askama::Result<Response> {
    Ok(Response::builder()
        .status(status)
        .content_type("text/html; charset=utf-8")
        .body(rendered(template)?))
}

/// A redirect that is followed with GET, even after POST (RFC 9110 §15.4.4).
pub(crate) fn redirect(to: impl Display) -> Response {
    Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(header::LOCATION, to.to_string())
        .finish()
}
