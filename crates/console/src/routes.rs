//! Which address leads where.

use std::sync::Arc;

use poem::error::MethodNotAllowedError;
use poem::{Endpoint, EndpointExt, Request, Response, Route, RouteMethod};

use crate::pages::error::error_page;
use crate::pages::{
    api_keys, edit_api_key, general, home, new_api_key, revoke_api_key, setup, sign_in, sign_out,
};
use crate::refusal::Refusal;
use crate::request_source::request_id;
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
    let answered = if same_origin::is_allowed(&request, &console.public_url) {
        endpoint
            .call(request)
            .await
            .map(poem::IntoResponse::into_response)
    } else {
        Err(Refusal::CrossSite.into())
    };
    let mut response = answered.unwrap_or_else(|error| match error.downcast::<Refusal>() {
        Ok(refusal) => refusal.into_response(&id),
        Err(other) => error_page(other.status(), &id),
    });
    headers::set(response.headers_mut());
    response
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
