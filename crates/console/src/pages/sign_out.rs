//! `/sign-out`: ends the session, here and on the server.

use poem::{Response, handler};

use crate::cookies;
use crate::flash::Message;
use crate::paths;
use crate::reader::Visitor;
use crate::refusal::Refusal;
use crate::request_source::Source;

#[handler]
pub(crate) async fn submit(visitor: Visitor, Source(source): Source) -> Result<Response, Refusal> {
    if let Some(signed_in) = &visitor.signed_in {
        visitor.console.sign_in.sign_out(signed_in, source).await?;
    }
    let mut response = visitor.redirect(paths::SignIn, Message::SignedOut);
    cookies::SESSION.remove(&mut response, &visitor.console.public_url);
    Ok(response)
}
