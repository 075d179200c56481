//! `/sign-out`: ends the session, here and on the server.

use std::sync::Arc;

use poem::http::header;
use poem::web::Data;
use poem::{Response, handler};

use crate::Console;
use crate::links::{self, SignInNotice};
use crate::pages::redirect;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::session_cookie::SessionCookie;
use crate::viewer::Visitor;

#[handler]
pub(crate) async fn submit(
    Data(console): Data<&Arc<Console>>,
    Visitor(visitor): Visitor,
    Source(source): Source,
) -> Result<Response, Refusal> {
    if let Some(signed_in) = visitor {
        console.sign_in.sign_out(&signed_in, source).await?;
    }
    let mut response = redirect(&links::sign_in(None, Some(SignInNotice::SignedOut)));
    let removal = SessionCookie::of(&console.public_url).remove();
    response.headers_mut().insert(header::SET_COOKIE, removal);
    Ok(response)
}
