//! The tags by which the document groups its operations.

use poem_openapi::Tags;

#[derive(Tags)]
pub(super) enum Tag {
    /// The personal API keys of the consumer that the calling key acts as.
    #[oai(rename = "API keys")]
    ApiKeys,
    /// Reports of API keys that were found where they do not belong.
    #[oai(rename = "Leaked keys")]
    LeakedKeys,
    /// The projects that the calling key has access to.
    Projects,
    /// The user that the calling key acts as.
    User,
    /// Checks of keys by gateways, before they pass a request on to the service behind them, and by services
    /// to which clients send keys.
    #[oai(rename = "Verification by others")]
    Verification,
}
