//! What the operations of the document are sorted by.

use poem_openapi::Tags;

#[derive(Tags)]
pub(super) enum Tag {
    /// The personal API keys of the consumer that the calling key acts as.
    #[oai(rename = "API keys")]
    ApiKeys,
    /// The projects that the calling key has access to.
    Projects,
    /// The user that the calling key acts as.
    User,
    /// What gateways ask before they pass a request on to the service behind them, and what services ask
    /// about the keys that clients send them.
    #[oai(rename = "Verification by others")]
    Verification,
}
