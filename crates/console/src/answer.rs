//! What every answer is made of.

use askama::Template;
use poem::Response;
use poem::http::{StatusCode, header};

/// A page, with the line feed at its end that templates lose.
pub(crate) fn rendered(template: &impl Template) -> askama::Result<String> {
    let mut page = template.render()?;
    page.push('\n');
    Ok(page)
}

/// Leads on with GET, also after POST (RFC 9110 §15.4.4).
pub(crate) fn redirect(to: &str) -> Response {
    Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(header::LOCATION, to)
        .finish()
}
