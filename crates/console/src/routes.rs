//! Which address leads where.

use std::sync::Arc;

use keyward_domain::organization::Organization;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::session::SessionToken;
use poem::error::MethodNotAllowedError;
use poem::http::StatusCode;
use poem::{Endpoint, EndpointExt, Request, Response, Route, RouteMethod};

use crate::error_page::{ErrorPage, error_page};
use crate::links::Parameter;
use crate::pages::{
    account, api_keys, archive_project, audit_log, change_role, edit_api_key, general, home, invitations,
    invite, join, leave, member, members, new_api_key, new_project, organization_key, organization_keys,
    project, project_members, projects, remove_member, revoke_api_key, revoke_keys, setup, sign_in, sign_out,
    take_back_invitation,
};
use crate::refusal::Refusal;
use crate::request_source::request_id;
use crate::session_cookie::SessionCookie;
use crate::{Console, assets, headers, links, same_origin};

const SLUG: Parameter = Parameter::SLUG;
const ID: Parameter = Parameter::ID;

/// The whole console.
pub(crate) fn endpoint(console: Arc<Console>) -> impl Endpoint {
    let guarding = Arc::clone(&console);
    Route::new()
        .at(links::HOME, page(RouteMethod::new().get(home::show)))
        .at(
            links::SETUP,
            form(RouteMethod::new().get(setup::show).post(setup::complete)),
        )
        .at(
            links::SIGN_IN,
            form(RouteMethod::new().get(sign_in::show).post(sign_in::submit)),
        )
        .at(
            links::JOIN,
            form(RouteMethod::new().get(join::show).post(join::submit)),
        )
        .at(links::SIGN_OUT, action(RouteMethod::new().post(sign_out::submit)))
        .at(
            links::organization(SLUG),
            page(RouteMethod::new().get(home::lead_to_keys)),
        )
        .at(
            links::settings(SLUG),
            page(RouteMethod::new().get(home::lead_to_keys)),
        )
        .at(links::general(SLUG), page(RouteMethod::new().get(general::show)))
        .at(
            links::choose_for_new_keys(SLUG),
            action(RouteMethod::new().post(general::choose_for_new_keys)),
        )
        .at(
            links::api_keys(SLUG),
            page(RouteMethod::new().get(api_keys::show)),
        )
        .at(
            links::new_api_key(SLUG),
            form(
                RouteMethod::new()
                    .get(new_api_key::show)
                    .post(new_api_key::submit),
            ),
        )
        .at(
            links::edit_api_key(SLUG, ID),
            form(
                RouteMethod::new()
                    .get(edit_api_key::show)
                    .post(edit_api_key::submit),
            ),
        )
        .at(
            links::revoke_api_key(SLUG, ID),
            form(
                RouteMethod::new()
                    .get(revoke_api_key::show)
                    .post(revoke_api_key::submit),
            ),
        )
        .at(
            links::leave(SLUG),
            form(RouteMethod::new().get(leave::show).post(leave::submit)),
        )
        .at(links::members(SLUG), page(RouteMethod::new().get(members::show)))
        .at(
            links::invite(SLUG),
            form(RouteMethod::new().get(invite::show).post(invite::submit)),
        )
        .at(
            links::invitations(SLUG),
            page(RouteMethod::new().get(invitations::show)),
        )
        .at(
            links::take_back_invitation(SLUG, ID),
            form(
                RouteMethod::new()
                    .get(take_back_invitation::show)
                    .post(take_back_invitation::submit),
            ),
        )
        .at(
            links::member(SLUG, ID),
            page(RouteMethod::new().get(member::show)),
        )
        .at(
            links::change_role(SLUG, ID),
            form(
                RouteMethod::new()
                    .get(change_role::show)
                    .post(change_role::submit),
            ),
        )
        .at(
            links::remove_member(SLUG, ID),
            form(
                RouteMethod::new()
                    .get(remove_member::show)
                    .post(remove_member::submit),
            ),
        )
        .at(
            links::projects(SLUG),
            page(RouteMethod::new().get(projects::show)),
        )
        .at(
            links::new_project(SLUG),
            form(
                RouteMethod::new()
                    .get(new_project::show)
                    .post(new_project::submit),
            ),
        )
        .at(
            links::project(SLUG, ID),
            form(RouteMethod::new().get(project::show).post(project::rename)),
        )
        .at(
            links::archive_project(SLUG, ID),
            form(
                RouteMethod::new()
                    .get(archive_project::show)
                    .post(archive_project::submit),
            ),
        )
        .at(
            links::restore_project(SLUG, ID),
            action(RouteMethod::new().post(archive_project::restore)),
        )
        .at(
            links::add_project_members(SLUG, ID),
            form(
                RouteMethod::new()
                    .get(project_members::show)
                    .post(project_members::add),
            ),
        )
        .at(
            links::remove_project_member(SLUG, ID),
            action(RouteMethod::new().post(project_members::remove)),
        )
        .at(
            links::audit_log(SLUG),
            page(RouteMethod::new().get(audit_log::show)),
        )
        .at(
            links::audit_log_csv(SLUG),
            page(RouteMethod::new().get(audit_log::export::as_csv)),
        )
        .at(
            links::audit_log_json_lines(SLUG),
            page(RouteMethod::new().get(audit_log::export::as_json_lines)),
        )
        .at(links::ACCOUNT, page(RouteMethod::new().get(account::show)))
        .at(
            links::CHANGE_PASSWORD,
            form(
                RouteMethod::new()
                    .get(account::show)
                    .post(account::change_password),
            ),
        )
        .at(
            links::END_OTHER_SESSIONS,
            action(RouteMethod::new().post(account::end_other_sessions)),
        )
        .at(
            links::end_session(ID),
            action(RouteMethod::new().post(account::end_session)),
        )
        .at(
            links::organization_keys(SLUG),
            page(RouteMethod::new().get(organization_keys::show)),
        )
        .at(
            links::organization_key(SLUG, ID),
            page(RouteMethod::new().get(organization_key::show)),
        )
        .at(
            links::revoke_organization_keys(SLUG),
            form(
                RouteMethod::new()
                    .get(revoke_keys::show)
                    .post(revoke_keys::submit),
            ),
        )
        .at(
            links::asset(Parameter::NAME),
            page(RouteMethod::new().get(assets::serve)),
        )
        .data(Arc::clone(&console))
        .around(move |endpoint, request| {
            let console = Arc::clone(&guarding);
            async move { Ok(answer(&*endpoint, request, &console).await) }
        })
}

/// Answers every request, whatever happens to it.
async fn answer(endpoint: &impl Endpoint, request: Request, console: &Console) -> Response {
    let id = request_id(&request).to_owned();
    let session = SessionCookie::of(&console.public_url).read(request.headers());
    let path = request.uri().path();
    let is_in_organization = path
        .strip_prefix(links::ORGANIZATIONS)
        .is_some_and(|rest| rest.starts_with('/'));
    let has_secret = [links::JOIN, links::SETUP].contains(&path) && request.uri().query().is_some();
    let answered = if same_origin::is_allowed(&request, &console.public_url) {
        endpoint
            .call(request)
            .await
            .map(poem::IntoResponse::into_response)
    } else {
        Err(Refusal::CrossSite.into())
    };
    let mut response = match answered {
        Ok(response) => response,
        Err(error) if is_in_organization && error.status() == StatusCode::NOT_FOUND => {
            nothing_here(console, session, &id).await
        }
        Err(error) => match error.downcast::<Refusal>() {
            Ok(refusal) => refusal.into_response(&id),
            Err(other) => error_page(other.status(), &id),
        },
    };
    headers::set(response.headers_mut(), has_secret);
    response
}

/// One answer for what is in no organization, in one that the visitor does not belong to, or only for its owners. It
/// leads to those that they do belong to.
async fn nothing_here(console: &Console, session: Option<SessionToken>, request_id: &str) -> Response {
    let organizations = match session {
        Some(token) => organizations_of(console, &token).await.unwrap_or_else(|error| {
            // The page does without what it cannot know.
            tracing::warn!(%error, "the ways on from a page that is not there are not known");
            Vec::new()
        }),
        None => Vec::new(),
    };
    ErrorPage::new(StatusCode::NOT_FOUND)
        .saying(
            "Page not found",
            "It doesn’t exist, or you don’t have access. If you sent a form, nothing was changed.",
        )
        .leading_to(&organizations)
        .into_response(request_id)
}

async fn organizations_of(
    console: &Console,
    token: &SessionToken,
) -> Result<Vec<Organization>, StorageError> {
    match console.sign_in.signed_in(token).await? {
        Some(viewer) => {
            console
                .memberships
                .organizations_of(viewer.user.id, console.now())
                .await
        }
        None => Ok(Vec::new()),
    }
}

fn page(methods: RouteMethod) -> impl Endpoint {
    naming_methods(methods, "GET, HEAD")
}

fn form(methods: RouteMethod) -> impl Endpoint {
    naming_methods(methods, "GET, HEAD, POST")
}

fn action(methods: RouteMethod) -> impl Endpoint {
    naming_methods(methods, "POST")
}

/// Other methods are refused with the names of those that are not (RFC 9110 §15.5.6).
fn naming_methods(methods: RouteMethod, allow: &'static str) -> impl Endpoint {
    methods.around(move |methods, request| async move {
        methods.call(request).await.map_err(|error| {
            if error.is::<MethodNotAllowedError>() {
                Refusal::MethodNotAllowed { allow }.into()
            } else {
                error
            }
        })
    })
}
