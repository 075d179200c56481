//! The authenticated user of a request, checked at every request.

use keyward_domain::sign_in::session::SignedIn;
use poem::Request;

use crate::Console;
use crate::refusal::Refusal;
use crate::session_cookie::SessionCookie;

/// Who is signed in, if anybody.
pub(crate) async fn signed_in(request: &Request, console: &Console) -> Result<Option<SignedIn>, Refusal> {
    let cookie = SessionCookie::of(&console.public_url);
    let Some(token) = cookie.read(request.headers()) else {
        return Ok(None);
    };
    let signed_in = console.sign_in.signed_in(&token).await?;
    if let Some(signed_in) = &signed_in {
        console.sign_in.note_seen(signed_in);
    }
    Ok(signed_in)
}
