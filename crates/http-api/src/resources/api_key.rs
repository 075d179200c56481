//! `/api/v1/user/api-keys/{id}`

use keyward_domain::access::Caller;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{EditKeyError, ReadKeyError, RevokeKeyError};
use keyward_domain::ports::DescendantKeys;
use keyward_domain::rate::Rate;
use poem_openapi::param::Path;
use poem_openapi::registry::MetaSchema;
use poem_openapi::{ApiResponse, OpenApi};

use super::representations::{ApiKeyItem, UpdateApiKeyRequest};
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::entity_tag;
use crate::json::Json;
use crate::paths::API_KEYS;
use crate::problem::{Code, Problem};
use crate::request::{Header, JsonBody, NoBody, Preconditions, QueryNames, QueryParameter, QueryValue};
use crate::request_id::Source;
use crate::services::Services;

pub(crate) struct ApiKeyResource;

#[derive(ApiResponse)]
pub(crate) enum GotKey {
    /// The key, without its token.
    #[oai(status = 200)]
    Found(
        Json<ApiKeyItem>,
        /// The version of the fields of the key that `PATCH` can change, for `If-Match`.
        #[oai(header = "ETag")]
        String,
    ),
}

#[derive(ApiResponse)]
pub(crate) enum UpdatedKey {
    /// The key as it is now.
    #[oai(status = 200)]
    Updated(
        Json<ApiKeyItem>,
        /// The version of the fields of the key that `PATCH` can change, for `If-Match`.
        #[oai(header = "ETag")]
        String,
    ),
}

#[derive(ApiResponse)]
pub(crate) enum DeletedKey {
    /// The key is revoked and no longer works.
    #[oai(status = 204)]
    Deleted,
}

#[OpenApi(prefix_path = API_KEYS, tag = "Tag::ApiKeys")]
impl ApiKeyResource {
    /// Get an API key
    ///
    /// One of the keys of the calling key's consumer, valid or revoked. To a calling key that cannot manage keys,
    /// the others do not exist (404).
    #[oai(path = "/:id", method = "get", operation_id = "getApiKey")]
    async fn get(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        /// The key's `id`, or `current` for the calling key.
        id: Path<String>,
    ) -> Result<GotKey, Problem> {
        query.only(&[])?;
        let id = key_named(&id, &authenticated.0)?;
        let holder = authenticated.0.as_holder();
        let keys = &services.api.keys;
        let key = keys.read(&holder, id).await.map_err(not_read)?;
        let item = Json(ApiKeyItem::new(&key, &authenticated.0));
        Ok(GotKey::Found(item, entity_tag::of_key(&key)))
    }

    /// Update an API key
    ///
    /// Changes the given fields. A revoked or expired key cannot be changed. A key can bring its own
    /// `expiresAt` forward, but not postpone or remove it: another key of its consumer that can manage keys,
    /// or the user in the console, can. The end of a rotated key cannot be postponed. To a calling key that cannot
    /// manage keys, the others do not exist (404). With `If-Match`, the response is 412 if the key's fields are
    /// not those of the given `ETag`; with `If-None-Match`, if its `ETag` is one of those that it lists, or if it
    /// is `*`.
    #[oai(path = "/:id", method = "patch", operation_id = "updateApiKey")]
    #[expect(clippy::too_many_arguments, reason = "each is a part of the request")]
    async fn update(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        source: Source,
        /// The `ETag` of the key when you last read it, or a list of them: the key is changed only if its
        /// current one is among them. `*`, or no header, matches any.
        #[oai(name = "If-Match")]
        Header(preconditions): Header<Preconditions>,
        edit: JsonBody<UpdateApiKeyRequest>,
        // After the body, so that an undecodable id is refused at the same point as an unknown one.
        /// The key's `id`, or `current` for the calling key.
        id: Path<String>,
    ) -> Result<UpdatedKey, Problem> {
        query.only(&[])?;
        let id = key_named(&id, &authenticated.0)?;
        let holder = authenticated.0.as_holder();
        let keys = &services.api.keys;
        let precondition = preconditions.for_key(keys, &holder, id).await.map_err(not_read)?;
        let key = keys
            .edit(&holder, id, edit.0, precondition, source.0)
            .await
            .map_err(|error| not_edited(error, keys.change_rate()))?;
        let item = Json(ApiKeyItem::new(&key, &authenticated.0));
        Ok(UpdatedKey::Updated(item, entity_tag::of_key(&key)))
    }

    /// Revoke an API key
    ///
    /// Revoking cannot be undone. Revoking a revoked key succeeds and changes nothing. Keys created with this
    /// key stay valid unless `descendants=revoke` is given; it revokes all valid ones, even if the key itself
    /// is already revoked. To a calling key that cannot manage keys, the others do not exist (404). Unknown
    /// query parameters and a body are refused. With `If-Match`, the response is 412 and no key is revoked if
    /// this key's fields are not those of the given `ETag`; with `If-None-Match`, if its `ETag` is one of those
    /// that it lists, or if it is `*`. If there is nothing left to revoke, both are ignored, unless they are
    /// malformed.
    #[oai(path = "/:id", method = "delete", operation_id = "deleteApiKey")]
    #[expect(clippy::too_many_arguments, reason = "each is a part of the request")]
    async fn delete(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        _no_body: NoBody,
        services: &Services,
        source: Source,
        /// The key's `id`, or `current` for the calling key.
        id: Path<String>,
        /// `revoke` to also revoke all keys created with this one, directly or indirectly; `keep` to leave
        /// them valid.
        descendants: QueryParameter<DescendantKeys>,
        /// The `ETag` of the key when you last read it, or a list of them: keys are revoked only if its
        /// current one is among them. `*`, or no header, matches any.
        #[oai(name = "If-Match")]
        Header(preconditions): Header<Preconditions>,
    ) -> Result<DeletedKey, Problem> {
        query.only(&["descendants"])?;
        let id = key_named(&id, &authenticated.0)?;
        let holder = authenticated.0.as_holder();
        let descendants = descendants.0.unwrap_or(DescendantKeys::Keep);
        let keys = &services.api.keys;
        let precondition = preconditions.for_key(keys, &holder, id).await.map_err(not_read)?;
        keys.revoke(&holder, id, descendants, precondition, source.0)
            .await
            .map_err(not_revoked)?;
        Ok(DeletedKey::Deleted)
    }
}

/// Parses the key id in a path; a malformed id is answered like an unknown key.
pub(super) fn key_named(id: &str, caller: &Caller) -> Result<ApiKeyId, Problem> {
    if id == "current" {
        return Ok(caller.api_key().id);
    }
    id.parse().map_err(|_| Problem::no_such_key())
}

impl QueryValue for DescendantKeys {
    const NAME: Option<&'static str> = Some("DescendantKeys");

    /// `keep` comes first, because importers send an enum's first value.
    fn schema() -> MetaSchema {
        MetaSchema {
            description: Some("What happens to the keys created with a revoked key, directly or indirectly."),
            enum_items: vec!["keep".into(), "revoke".into()],
            default: Some("keep".into()),
            ..MetaSchema::new("string")
        }
    }

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "keep" => Ok(Self::Keep),
            "revoke" => Ok(Self::Revoke),
            _ => Err("must be `keep` or `revoke`".to_owned()),
        }
    }
}

fn not_read(error: ReadKeyError) -> Problem {
    match error {
        ReadKeyError::NotFound => Problem::no_such_key(),
        ReadKeyError::Storage(error) => error.into(),
    }
}

fn not_edited(error: EditKeyError, rate: Rate) -> Problem {
    match error {
        EditKeyError::HolderGone => Code::InvalidToken.into(),
        EditKeyError::Throttled(throttled) => Problem::throttled(throttled, rate),
        EditKeyError::NotFound => Problem::no_such_key(),
        EditKeyError::Revoked => Code::KeyRevoked.into(),
        EditKeyError::PreconditionFailed => Code::PreconditionFailed.into(),
        EditKeyError::CannotExtendLife(refusal) => Problem::cannot_extend_life(refusal),
        EditKeyError::InvalidExpiry(error) => Problem::invalid_field("expiresAt", error),
        EditKeyError::Storage(error) => error.into(),
    }
}

fn not_revoked(error: RevokeKeyError) -> Problem {
    match error {
        RevokeKeyError::HolderGone => Code::InvalidToken.into(),
        RevokeKeyError::NotFound => Problem::no_such_key(),
        RevokeKeyError::PreconditionFailed => Code::PreconditionFailed.into(),
        RevokeKeyError::Storage(error) => error.into(),
    }
}
