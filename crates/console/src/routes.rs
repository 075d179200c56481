//! Which path leads where.

use std::sync::Arc;

use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::session::SessionToken;
use poem::error::MethodNotAllowedError;
use poem::http::{Method, StatusCode};
use poem::{Endpoint, EndpointExt, IntoEndpoint, Request, Response, Route, RouteMethod};

use crate::answer::redirect;
use crate::error_page::{ErrorPage, error_page};
use crate::flash::{Flash, Message};
use crate::pages::{
    account, api_keys, apply_key_life, archive_project, audit_log, change_role, edit_api_key, general, home,
    invitations, invite, join, leave, member, member_expiration, members, new_api_key, new_project,
    organization_key, organization_keys, project, project_members, projects, remove_member, revoke_api_key,
    revoke_invitation, revoke_keys, rotate_api_key, setup, sign_in, sign_out,
};
use crate::refusal::Refusal;
use crate::request_source::request_id;
use crate::token_free_url::without_token;
use crate::user_menu::UserMenu;
use crate::{Console, assets, cookies, headers, paths, same_origin};

/// The routes, with their operations.
struct Table {
    route: Route,
    operations: Vec<(&'static str, String)>,
}

fn table() -> Table {
    Table::new()
        .page(paths::Home::PATTERN, home::show)
        .form(paths::Setup::PATTERN, setup::show, setup::complete)
        .form(paths::SignIn::PATTERN, sign_in::show, sign_in::submit)
        .form(paths::Join::PATTERN, join::show, join::submit)
        .action(paths::SignOut::PATTERN, sign_out::submit)
        .page(paths::Account::PATTERN, account::show)
        .form(
            paths::ChangePassword::PATTERN,
            account::show,
            account::change_password,
        )
        .form(
            paths::EndOtherSessions::PATTERN,
            account::show,
            account::end_other_sessions,
        )
        .form(paths::EndSession::PATTERN, account::show, account::end_session)
        .page(
            paths::WellKnownChangePassword::PATTERN,
            account::lead_to_password_form,
        )
        .page(paths::Asset::PATTERN, assets::serve)
        .page(paths::Organization::PATTERN, home::lead_to_keys)
        .page(paths::Settings::PATTERN, home::lead_to_keys)
        .page(paths::General::PATTERN, general::show)
        .form(
            paths::ChooseForNewKeys::PATTERN,
            general::show,
            general::set_default_for_new_keys,
        )
        .form(
            paths::LimitKeyLife::PATTERN,
            general::show,
            general::limit_key_life,
        )
        .form(
            paths::ApplyKeyLife::PATTERN,
            apply_key_life::show,
            apply_key_life::submit,
        )
        .form(paths::Leave::PATTERN, leave::show, leave::submit)
        .page(paths::Members::PATTERN, members::show)
        .form(paths::Invite::PATTERN, invite::show, invite::submit)
        .page(paths::Invitations::PATTERN, invitations::show)
        .form(
            paths::RevokeInvitation::PATTERN,
            revoke_invitation::show,
            revoke_invitation::submit,
        )
        .page(paths::Member::PATTERN, member::show)
        .form(paths::ChangeRole::PATTERN, change_role::show, change_role::submit)
        .form(
            paths::MemberExpiration::PATTERN,
            member_expiration::show,
            member_expiration::submit,
        )
        .form(
            paths::RemoveMember::PATTERN,
            remove_member::show,
            remove_member::submit,
        )
        .page(paths::Projects::PATTERN, projects::show)
        .form(paths::NewProject::PATTERN, new_project::show, new_project::submit)
        .form(paths::Project::PATTERN, project::show, project::rename)
        .form(
            paths::ArchiveProject::PATTERN,
            archive_project::show,
            archive_project::submit,
        )
        .form(
            paths::RestoreProject::PATTERN,
            project::show,
            archive_project::restore,
        )
        .form(
            paths::AddProjectMembers::PATTERN,
            project_members::show,
            project_members::add,
        )
        .form(
            paths::RemoveProjectMember::PATTERN,
            project::show,
            project_members::remove,
        )
        .page(paths::ApiKeys::PATTERN, api_keys::show)
        .form(paths::NewApiKey::PATTERN, new_api_key::show, new_api_key::submit)
        .form(
            paths::EditApiKey::PATTERN,
            edit_api_key::show,
            edit_api_key::submit,
        )
        .form(
            paths::RotateApiKey::PATTERN,
            rotate_api_key::show,
            rotate_api_key::submit,
        )
        .form(
            paths::RevokeApiKey::PATTERN,
            revoke_api_key::show,
            revoke_api_key::submit,
        )
        .page(paths::OrganizationKeys::PATTERN, organization_keys::show)
        .page(paths::OrganizationKey::PATTERN, organization_key::show)
        .form(
            paths::RevokeOrganizationKeys::PATTERN,
            revoke_keys::show,
            revoke_keys::submit,
        )
        .page(paths::AuditLog::PATTERN, audit_log::show)
        .export(paths::AuditLogCsv::PATTERN, audit_log::export::as_csv)
        .export(
            paths::AuditLogJsonLines::PATTERN,
            audit_log::export::as_json_lines,
        )
}

/// Data of the answer for metrics of requests.
#[derive(Debug, Clone)]
struct Operation(Arc<str>);

/// The operation of the console that made a response, as method and path like in [`operations`]; none if the request
/// reached no operation.
#[must_use]
pub fn operation(response: &Response) -> Option<&str> {
    let operation = response.extensions().get::<Operation>();
    operation.map(|operation| &*operation.0)
}

/// All operations of the console by method and path, with `:name` for parameters.
#[must_use]
pub fn operations() -> Vec<(&'static str, String)> {
    table().operations
}

/// All routes of the console.
pub(crate) fn endpoint(console: Arc<Console>) -> impl Endpoint {
    let guarding = Arc::clone(&console);
    let route = table().route.data(console);
    route.around(move |endpoint, request| {
        let console = Arc::clone(&guarding);
        async move { Ok(answer(&*endpoint, request, &console).await) }
    })
}

/// Answers every request, also one that fails.
async fn answer(endpoint: &impl Endpoint, request: Request, console: &Console) -> Response {
    let id = request_id(&request).to_owned();
    let session = cookies::SESSION.read(request.headers(), &console.public_url);
    let path = request.uri().path();
    let is_in_organization = path
        .strip_prefix(paths::Organizations::PATTERN)
        .is_some_and(|rest| rest.starts_with('/'));
    let links = [paths::Join::PATTERN, paths::Setup::PATTERN];
    let sends_form = *request.method() == Method::POST;
    let signs_out = sends_form && path == paths::SignOut::PATTERN;
    let has_secret = links.contains(&path) && request.uri().query().is_some();
    let answered = if let Some(instead) = without_token(&request) {
        let mut response = redirect(instead);
        let text = Flash::from(Message::TokenLeftOut).to_text();
        cookies::FLASH.set(&mut response, &console.public_url, &text);
        Ok(response)
    } else if same_origin::is_allowed(&request, &console.public_url) {
        endpoint
            .call(request)
            .await
            .map(poem::IntoResponse::into_response)
    } else {
        let public_url = console.public_url.clone();
        Err(Refusal::CrossSite { public_url }.into())
    };
    let operation = match &answered {
        Ok(response) => response.extensions().get::<Operation>(),
        Err(error) => error.data::<Operation>(),
    };
    let operation = operation.cloned();
    let mut response = match answered {
        Ok(response) => response,
        Err(error) if is_in_organization && error.status() == StatusCode::NOT_FOUND => {
            nothing_here(console, session, &id).await
        }
        Err(error) => match error.downcast::<Refusal>() {
            // Without the cookie, this browser is signed out, even if the server still has the session.
            Ok(Refusal::Storage(error)) if signs_out => {
                let mut response = Refusal::SessionNotEnded(error).into_response(&id, sends_form);
                cookies::SESSION.remove(&mut response, &console.public_url);
                response
            }
            Ok(refusal) => refusal.into_response(&id, sends_form),
            Err(other) => error_page(other.status(), &id),
        },
    };
    if let Some(operation) = operation {
        response.extensions_mut().insert(operation);
    }
    headers::set(response.headers_mut(), has_secret);
    response
}

/// One answer for paths that do not exist, that belong to another organization, or that are only for owners. It links
/// to the visitor's own organizations.
async fn nothing_here(console: &Console, session: Option<SessionToken>, request_id: &str) -> Response {
    let menu = match session {
        Some(token) => menu_of(console, &token).await.unwrap_or_else(|error| {
            // The page then has no menu.
            tracing::warn!(%error, "cannot list organizations on the error page");
            None
        }),
        None => None,
    };
    ErrorPage::new(StatusCode::NOT_FOUND)
        .with_text(
            "Page not found",
            "It doesn’t exist, or you don’t have access. If you sent a form, this request changed nothing. If you sent it \
             twice, the first request may have taken effect.",
        )
        .with_menu(menu)
        .into_response(request_id)
}

async fn menu_of(console: &Console, token: &SessionToken) -> Result<Option<UserMenu>, StorageError> {
    let Some(viewer) = console.sign_in.signed_in(token).await? else {
        return Ok(None);
    };
    let memberships = &console.memberships;
    let organizations = memberships.organizations_of(viewer.user.id, console.now());
    Ok(Some(UserMenu::new(&viewer.user, organizations.await?.iter())))
}

impl Table {
    fn new() -> Self {
        Self {
            route: Route::new(),
            operations: Vec::new(),
        }
    }

    /// A page without a form of its own.
    fn page(self, pattern: &str, show: impl IntoEndpoint<Endpoint: 'static>) -> Self {
        self.at(pattern, RouteMethod::new().get(show), &["GET"], "GET, HEAD")
    }

    /// A file whose export is recorded. Its endpoint also gets HEAD requests, which poem would turn into GET, and
    /// records none of them.
    fn export(self, pattern: &str, file: impl IntoEndpoint<Endpoint: 'static>) -> Self {
        let file = Arc::new(file.into_endpoint());
        let methods = RouteMethod::new().get(Arc::clone(&file)).head(file);
        self.at(pattern, methods, &["GET"], "GET, HEAD")
    }

    /// A page with the form that is sent to the same path.
    fn form(
        self,
        pattern: &str,
        show: impl IntoEndpoint<Endpoint: 'static>,
        submit: impl IntoEndpoint<Endpoint: 'static>,
    ) -> Self {
        let methods = RouteMethod::new().get(show).post(submit);
        self.at(pattern, methods, &["GET", "POST"], "GET, HEAD, POST")
    }

    /// The target of a form on another page.
    fn action(self, pattern: &str, submit: impl IntoEndpoint<Endpoint: 'static>) -> Self {
        self.at(pattern, RouteMethod::new().post(submit), &["POST"], "POST")
    }

    fn at(
        mut self,
        pattern: &str,
        methods: RouteMethod,
        names: &[&'static str],
        allow: &'static str,
    ) -> Self {
        let path = pattern.replace('{', ":").replace('}', "");
        for name in names {
            self.operations.push((name, path.clone()));
        }
        let operations = ["GET", "POST"].map(|method| Operation(format!("{method} {path}").into()));
        let endpoint = naming_operation(naming_methods(methods, allow), operations);
        self.route = self.route.at(path, endpoint);
        self
    }
}

/// Leaves with each answer which operation made it.
fn naming_operation(
    methods: impl Endpoint<Output = Response> + 'static,
    [get, post]: [Operation; 2],
) -> impl Endpoint {
    methods.around(move |methods, request| {
        let operation = match *request.method() {
            Method::GET | Method::HEAD => Some(get.clone()),
            Method::POST => Some(post.clone()),
            _ => None,
        };
        async move {
            let mut answered = methods.call(request).await;
            if let Some(operation) = operation {
                match &mut answered {
                    Ok(response) => response.set_data(operation),
                    Err(error) => error.set_data(operation),
                }
            }
            answered
        }
    })
}

/// Other methods are refused with the names of those that are not (RFC 9110 §15.5.6).
fn naming_methods(methods: RouteMethod, allow: &'static str) -> impl Endpoint<Output = Response> {
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
