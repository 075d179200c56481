//! `/api/v1/user/api-keys/{id}/rotate`

use chrono::{DateTime, Utc};
use keyward_domain::keys::{ChosenKey, RotateKeyError, RotationDraft};
use keyward_domain::rate::Rate;
use poem_openapi::param::Path;
use poem_openapi::types::Example;
use poem_openapi::{Enum, Object, OpenApi};

use super::api_key::key_named;
use super::api_keys::{CreatedKey, with_key};
use super::examples;
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::json::moment_if_any;
use crate::paths::API_KEYS;
use crate::problem::{Code, Problem};
use crate::request::{Fields, Header, JsonBody, QueryNames, ReadFields};
use crate::request_id::Source;
use crate::services::{HttpApi, Services};

pub(crate) struct RotationResource;

#[OpenApi(prefix_path = API_KEYS, tag = "Tag::ApiKeys")]
impl RotationResource {
    /// Rotate an API key
    ///
    /// Creates a key in place of a valid one: with everything that was chosen for it, such as its name, description and rights,
    /// and the same `createdByKeyId`.
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

/// How to rotate a key. The body may be omitted.
#[derive(Object)]
#[oai(
    rename = "RotateApiKeyRequest",
    rename_all = "camelCase",
    skip_serializing_if_is_none,
    example
)]
pub(crate) struct RotateApiKeyRequest {
    /// When the old key ends. `after_grace` if absent; `null` counts as absent, too.
    old_key_ends: Option<OldKeyEnds>,
    /// For `after_grace`: after how many seconds the old key ends. 86,400, which is a day, if absent or
    /// `null`. A key that expires sooner does so.
    #[oai(validator(minimum(value = "1"), maximum(value = "604800")))]
    grace_seconds: Option<i64>,
    /// When the new key expires. Same rules as at creation. If absent or `null`, the new key expires when the
    /// old one would have, or after the organization's maximum lifetime, if that is sooner. A key that
    /// rotates itself cannot postpone this.
    #[oai(serialize_with = "moment_if_any")]
    expires_at: Option<DateTime<Utc>>,
}

/// When a rotated key ends: some time after the rotation, `at_once`, or within two minutes of the new key's
/// first use.
#[derive(Enum)]
#[oai(rename_all = "snake_case")]
pub(crate) enum OldKeyEnds {
    AfterGrace,
    AtOnce,
    OnFirstUse,
}

impl ReadFields for RotateApiKeyRequest {
    const MAY_BE_ABSENT: bool = true;

    type Read = RotationDraft;

    fn read(fields: &mut Fields) -> Option<RotationDraft> {
        let old_key_ends = fields.old_key_end("oldKeyEnds", "graceSeconds");
        let expiry = fields.expiry("expiresAt");
        Some(RotationDraft {
            old_key_ends: old_key_ends?,
            expiry: expiry?,
        })
    }
}

impl Example for RotateApiKeyRequest {
    fn example() -> Self {
        Self {
            old_key_ends: Some(OldKeyEnds::AfterGrace),
            grace_seconds: Some(3_600),
            expires_at: Some(examples::expiry()),
        }
    }
}
