//! The authenticated user of a request, checked at every request.

use keyward_domain::sign_in::session::SignedIn;
use poem::Request;

use crate::Console;
use crate::cookies;
use crate::refusal::Refusal;

/// The signed-in user, if there is one.
pub(crate) async fn signed_in(request: &Request, console: &Console) -> Result<Option<SignedIn>, Refusal> {
    let Some(token) = cookies::SESSION.read(request.headers(), &console.public_url) else {
        return Ok(None);
    };
    let signed_in = console.sign_in.signed_in(&token).await?;
    if let Some(signed_in) = &signed_in {
        console.sign_in.note_seen(signed_in);
    }
    Ok(signed_in)
}
