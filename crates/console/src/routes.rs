//! Which address leads where.

use std::sync::Arc;

use keyward_domain::organization::Organization;
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::session::SessionToken;
use poem::error::MethodNotAllowedError;
use poem::http::StatusCode;
use poem::{Endpoint, EndpointExt, Request, Response, Route, RouteMethod};

use crate::pages::error::{ErrorPage, error_page};
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
            "/organizations/:slug",
            page(RouteMethod::new().get(home::lead_to_keys)),
        )
        .at(
            "/organizations/:slug/settings",
            page(RouteMethod::new().get(home::lead_to_keys)),
        )
        .at(
            "/organizations/:slug/settings/general",
            page(RouteMethod::new().get(general::show)),
        )
        .at(
            "/organizations/:slug/settings/general/new-keys",
            action(RouteMethod::new().post(general::choose_for_new_keys)),
        )
        .at(
            "/organizations/:slug/settings/api-keys",
            page(RouteMethod::new().get(api_keys::show)),
        )
        .at(
            "/organizations/:slug/settings/api-keys/new",
            form(
                RouteMethod::new()
                    .get(new_api_key::show)
                    .post(new_api_key::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/api-keys/:id/edit",
            form(
                RouteMethod::new()
                    .get(edit_api_key::show)
                    .post(edit_api_key::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/api-keys/:id/revoke",
            form(
                RouteMethod::new()
                    .get(revoke_api_key::show)
                    .post(revoke_api_key::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/general/leave",
            form(RouteMethod::new().get(leave::show).post(leave::submit)),
        )
        .at(
            "/organizations/:slug/settings/members",
            page(RouteMethod::new().get(members::show)),
        )
        .at(
            "/organizations/:slug/settings/members/invite",
            form(RouteMethod::new().get(invite::show).post(invite::submit)),
        )
        .at(
            "/organizations/:slug/settings/members/invitations",
            page(RouteMethod::new().get(invitations::show)),
        )
        .at(
            "/organizations/:slug/settings/members/invitations/:id/take-back",
            form(
                RouteMethod::new()
                    .get(take_back_invitation::show)
                    .post(take_back_invitation::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/members/:id",
            page(RouteMethod::new().get(member::show)),
        )
        .at(
            "/organizations/:slug/settings/members/:id/role",
            form(
                RouteMethod::new()
                    .get(change_role::show)
                    .post(change_role::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/members/:id/remove",
            form(
                RouteMethod::new()
                    .get(remove_member::show)
                    .post(remove_member::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/projects",
            page(RouteMethod::new().get(projects::show)),
        )
        .at(
            "/organizations/:slug/settings/projects/new",
            form(
                RouteMethod::new()
                    .get(new_project::show)
                    .post(new_project::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/projects/:id",
            form(RouteMethod::new().get(project::show).post(project::rename)),
        )
        .at(
            "/organizations/:slug/settings/projects/:id/archive",
            form(
                RouteMethod::new()
                    .get(archive_project::show)
                    .post(archive_project::submit),
            ),
        )
        .at(
            "/organizations/:slug/settings/projects/:id/restore",
            action(RouteMethod::new().post(archive_project::restore)),
        )
        .at(
            "/organizations/:slug/settings/projects/:id/add-members",
            form(
                RouteMethod::new()
                    .get(project_members::show)
                    .post(project_members::add),
            ),
        )
        .at(
            "/organizations/:slug/settings/projects/:id/remove-member",
            action(RouteMethod::new().post(project_members::remove)),
        )
        .at(
            "/organizations/:slug/settings/audit-log",
            page(RouteMethod::new().get(audit_log::show)),
        )
        .at(
            "/organizations/:slug/settings/audit-log/export.csv",
            page(RouteMethod::new().get(audit_log::export::as_csv)),
        )
        .at(
            "/organizations/:slug/settings/audit-log/export.jsonl",
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
            "/account/sessions/:id/end",
            action(RouteMethod::new().post(account::end_session)),
        )
        .at(
            "/organizations/:slug/settings/api-keys/all",
            page(RouteMethod::new().get(organization_keys::show)),
        )
        .at(
            "/organizations/:slug/settings/api-keys/all/:id",
            page(RouteMethod::new().get(organization_key::show)),
        )
        .at(
            "/organizations/:slug/settings/api-keys/all/revoke",
            form(
                RouteMethod::new()
                    .get(revoke_keys::show)
                    .post(revoke_keys::submit),
            ),
        )
        .at("/assets/:name", page(RouteMethod::new().get(assets::serve)))
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
    let is_in_organization = request.uri().path().starts_with("/organizations/");
    let has_secret =
        [links::JOIN, links::SETUP].contains(&request.uri().path()) && request.uri().query().is_some();
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
            "There is nothing here",
            "The page does not exist, or you do not have access to it, or not any more. If you sent a form, nothing was \
             changed.",
        )
        .leading_to(&organizations)
        .into_response(request_id)
}

async fn organizations_of(
    console: &Console,
    token: &SessionToken,
) -> Result<Vec<Organization>, StorageError> {
    match console.sign_in.signed_in(token).await? {
        Some(viewer) => console.memberships.organizations_of(viewer.user.id).await,
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
