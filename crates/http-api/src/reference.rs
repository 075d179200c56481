//! `/docs`: the API reference page, on which people can also try operations with their own key.
//!
//! The page is generated from the document, so the two cannot differ. It is complete without its script,
//! which only sends requests; the key is kept only in its input field.

mod members;
mod operations;
mod page;
mod schemas;

use askama::Template;
use poem::http::header;
use poem::{Endpoint, Request, Response};

use page::Page;

/// Allows only own styles and scripts, and requests to this service; no forms.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
     form-action 'none'";

/// Serves the page, rendered once when the endpoint is created.
#[derive(Clone)]
pub(crate) struct ReferencePage(String);

impl ReferencePage {
    pub(crate) fn new() -> Self {
        // Rendering to a string cannot fail. Templates drop the final line feed.
        Self(Page::of_the_document().render().unwrap_or_default() + "\n")
    }
}

impl Endpoint for ReferencePage {
    type Output = Response;

    async fn call(&self, _request: Request) -> poem::Result<Response> {
        Ok(Response::builder()
            .content_type("text/html; charset=utf-8")
            .header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)
            // Keeps the browser from caching the page for its Back button, with responses that may show a
            // token.
            .header(header::CACHE_CONTROL, "no-store")
            .body(self.0.clone()))
    }
}
