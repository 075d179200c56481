//! `/api/v1/user/api-keys/{id}/rotate`

use keyward_domain::keys::{ChosenKey, RotateKeyError};
use keyward_domain::rate::Rate;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;

use super::api_key::key_named;
use super::api_keys::{CreatedKey, with_key};
use super::request_bodies::RotateApiKeyRequest;
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::paths::API_KEYS;
use crate::problem::{Code, Problem};
use crate::request::{Header, JsonBody, QueryNames};
use crate::request_id::Source;
use crate::services::{HttpApi, Services};

pub(crate) struct RotationResource;

#[OpenApi(prefix_path = API_KEYS, tag = "Tag::ApiKeys")]
impl RotationResource {
    /// Rotate an API key
    ///
    /// Creates a key in place of a valid one: with the same name, description, rights and `createdByKeyId`.
    /// The old key ends a day later, unless the request chooses another time; until then both are valid, and count
    /// as one for the limit of valid keys. A key is rotated once, and again only after the new key has ended.
    /// If the key that it took the place of is still valid, that one ends at once. The new key is a descendant
    /// of the calling key, which must be able to manage keys, also to rotate itself. With `Idempotency-Key`,
    /// the request can be repeated safely, except by a key that has ended with it; after 409
    /// `already_created`, rotate the key that `id` names, or revoke it and rotate this one again.
    /// Preconditions (`If-Match`, `If-None-Match`) are not evaluated.
    #[oai(path = "/:id/rotate", method = "post", operation_id = "rotateApiKey")]
    #[expect(clippy::too_many_arguments, reason = "each is a part of the request")]
    async fn rotate(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        source: Source,
        /// Marks this request, so that repeating it within 24 hours has no second effect: 1 to 255 visible
        /// characters of ASCII, in quotation marks or without; without them no comma, semicolon, quotation mark or
        /// backslash. Make a new one for each such request, such as a random UUID. Scoped to the consumer.
        #[oai(name = "Idempotency-Key")]
        Header(idempotency_key): Header<Option<ChosenKey>>,
        draft: JsonBody<RotateApiKeyRequest>,
        // After the body, so that an undecodable id is refused at the same point as an unknown one.
        /// The key's `id`, or `current` for the calling key.
        id: Path<String>,
    ) -> Result<CreatedKey, Problem> {
        query.only(&[])?;
        let id = key_named(&id, &authenticated.0)?;
        let holder = authenticated.0.as_holder();
        let digest = draft.0.request_digest(id);
        let idempotency_key = idempotency_key.map(|key| key.for_request(digest));
        let HttpApi { keys, base_url, .. } = &services.api;
        match keys.rotate(&holder, id, draft.0, idempotency_key, source.0).await {
            Ok(issued) => Ok(CreatedKey::of(&issued, holder.consumer(), base_url)),
            Err(RotateKeyError::AlreadyCreated(id)) => {
                Err(with_key(Code::AlreadyCreated, keys, &holder, id).await)
            }
            Err(RotateKeyError::AlreadyRotated(id)) => {
                Err(with_key(Code::AlreadyRotated, keys, &holder, id).await)
            }
            Err(error) => Err(not_rotated(error, keys.change_rate())),
        }
    }
}

fn not_rotated(error: RotateKeyError, rate: Rate) -> Problem {
    match error {
        RotateKeyError::HolderGone => Code::InvalidToken.into(),
        RotateKeyError::MayNotManageKeys => Code::KeyMayNotManageKeys.into(),
        RotateKeyError::Throttled(throttled) => Problem::throttled(throttled, rate),
        RotateKeyError::IdempotencyKeyReused => Code::IdempotencyKeyReused.into(),
        RotateKeyError::InProgress => Problem::in_progress(),
        RotateKeyError::NotFound => Problem::no_such_key(),
        RotateKeyError::AlreadyCreated(id) => Problem::with_key(Code::AlreadyCreated, id, None),
        RotateKeyError::AlreadyRotated(id) => Problem::with_key(Code::AlreadyRotated, id, None),
        RotateKeyError::Revoked => Code::KeyRevoked.into(),
        RotateKeyError::TreeTooDeep => Code::KeyTreeTooDeep.into(),
        RotateKeyError::InvalidExpiry(error) => Problem::invalid_field("expiresAt", error),
        RotateKeyError::CannotExtendLife(refusal) => Problem::cannot_extend_life(refusal),
        RotateKeyError::Storage(error) => error.into(),
    }
}
