//! `/sign-out`: ends the session, here and on the server.

use poem::{Response, handler};

use crate::cookies;
use crate::flash::Message;
use crate::forms::{Sent, USER, VisitorForm};
use crate::paths;
use crate::refusal::Refusal;

#[handler]
pub(crate) async fn submit(Sent(visitor, form, source): VisitorForm) -> Result<Response, Refusal> {
    if let Some(signed_in) = &visitor.signed_in {
        form.required(USER)?;
        visitor.console.sign_in.sign_out(signed_in, source).await?;
    }
    let mut response = visitor.redirect(paths::SignIn, Message::SignedOut);
    cookies::SESSION.remove(&mut response, &visitor.console.public_url);
    Ok(response)
}
