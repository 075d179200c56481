//! What the operations of the document are sorted by.

use poem_openapi::Tags;

#[derive(Tags)]
pub(super) enum Tag {
    /// The personal keys of the consumer that the calling key acts as: create, list, rename, revoke.
    #[oai(rename = "API keys")]
    ApiKeys,
    /// The projects that the calling key reaches.
    Projects,
    /// Whom the calling key acts as.
    User,
}
