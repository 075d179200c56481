//! The pages: one file each, with its template of the same name in `templates/`.

pub(crate) mod account;
pub(crate) mod api_keys;
pub(crate) mod archive_project;
pub(crate) mod audit_log;
mod browser_name;
pub(crate) mod change_role;
pub(crate) mod edit_api_key;
mod field;
pub(crate) mod general;
mod held_key;
pub(crate) mod home;
pub(crate) mod invitations;
pub(crate) mod invite;
mod issued_api_key;
pub(crate) mod join;
mod key_right;
mod key_standing;
mod key_status;
mod key_words;
mod last_used;
pub(crate) mod leave;
mod listing;
pub(crate) mod member;
pub(crate) mod members;
mod moment;
pub(crate) mod new_api_key;
pub(crate) mod new_project;
mod newcomer_fields;
pub(crate) mod organization_key;
pub(crate) mod organization_keys;
mod own_projects;
pub(crate) mod project;
pub(crate) mod project_members;
pub(crate) mod projects;
pub(crate) mod remove_member;
pub(crate) mod revoke_api_key;
pub(crate) mod revoke_keys;
mod settings;
pub(crate) mod setup;
pub(crate) mod sign_in;
pub(crate) mod sign_out;
pub(crate) mod take_back_invitation;
mod tokenless_address;
mod user_menu;
mod waiting;
mod what_stops;

use askama::Template;
use poem::Response;
use poem::http::StatusCode;

use crate::answer::rendered;
use crate::refusal::Refusal;

pub(crate) use crate::answer::redirect;

/// A page with a status.
fn html(status: StatusCode, template: &impl Template) -> Result<Response, Refusal> {
    Ok(Response::builder()
        .status(status)
        .content_type("text/html; charset=utf-8")
        .body(rendered(template)?))
}
