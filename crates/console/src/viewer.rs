//! Who asks for a page, decided anew at every request.

use std::time::Duration;

use keyward_domain::failure_sentence::sentence;
use keyward_domain::sign_in::session::SignedIn;
use poem::Request;
use tokio::time::timeout;

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
        note_seen(console, signed_in).await;
    }
    Ok(signed_in)
}

/// Pages go on without: when somebody was last seen is worth neither a page nor a long wait. What takes longer is written
/// all the same.
async fn note_seen(console: &Console, signed_in: &SignedIn) {
    const LONGEST_WAIT: Duration = Duration::from_millis(250);
    match timeout(LONGEST_WAIT, console.sign_in.note_seen(signed_in)).await {
        Ok(Ok(())) => {}
        // Whoever serves the console watches whether the storage takes changes, and tells it once.
        Ok(Err(error)) if error.is_outage() => {
            tracing::debug!(error = sentence(&error), "last seen not written");
        }
        Ok(Err(error)) => tracing::warn!(error = sentence(&error), "last seen not written"),
        Err(_) => tracing::debug!("last seen not written yet"),
    }
}
