//! `/docs`: the document as a page on which people read it and try its operations with their own key.
//!
//! The page is made from the document, so the two cannot differ. It is whole without its script, which only sends
//! requests; the key stays in the field into which it is typed.

mod members;
mod operations;
mod page;
mod schemas;

use askama::Template;
use poem::http::header;
use poem::{Endpoint, Request, Response};

use page::Page;

/// All that the page does is its own: style, script, and requests to this service. It sends no form.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
     form-action 'none'";

/// Serves the page of the document as it is when the endpoint is made.
#[derive(Clone)]
pub(crate) struct ReferencePage(String);

impl ReferencePage {
    pub(crate) fn new() -> Self {
        // It writes to a string, which cannot fail. Templates lose the line feed at their end.
        Self(Page::of_the_document().render().unwrap_or_default() + "\n")
    }
}

impl Endpoint for ReferencePage {
    type Output = Response;

    async fn call(&self, _request: Request) -> poem::Result<Response> {
        Ok(Response::builder()
            .content_type("text/html; charset=utf-8")
            .header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)
            // So that no copy of the page, with answers that show a token, is kept for the way back.
            .header(header::CACHE_CONTROL, "no-store")
            .body(self.0.clone()))
    }
}
