//! The pages: one file each, with its template of the same name in `templates/`.

pub(crate) mod api_keys;
pub(crate) mod edit_api_key;
pub(crate) mod error;
mod field;
pub(crate) mod general;
pub(crate) mod home;
mod issued_api_key;
mod key_in_path;
mod listing;
mod moment;
pub(crate) mod new_api_key;
pub(crate) mod revoke_api_key;
mod settings;
pub(crate) mod setup;
pub(crate) mod sign_in;
pub(crate) mod sign_out;
mod tokenless_address;

use askama::Template;
use poem::Response;
use poem::http::{StatusCode, header};

use crate::refusal::Refusal;

/// A page with a status.
fn html(status: StatusCode, template: &impl Template) -> Result<Response, Refusal> {
    let body = template.render()?;
    Ok(Response::builder()
        .status(status)
        .content_type("text/html; charset=utf-8")
        .body(body))
}

/// Leads on with GET, also after POST (RFC 9110 §15.4.4).
pub(crate) fn redirect(to: &str) -> Response {
    Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(header::LOCATION, to)
        .finish()
}
