//! `keyward openapi`: the OpenAPI document of the HTTP API.

use super::Failure;
use crate::output;

/// Prints the document, byte for byte what `/openapi.json` serves.
pub(crate) fn run() -> Result<(), Failure> {
    Ok(output::answer(&keyward_http_api::document())?)
}
