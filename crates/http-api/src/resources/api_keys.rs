//! `/api/v1/user/api-keys`

use keyward_domain::holder::{Consumer, Holder};
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{AddKeyError, ChosenKey, IssuedKey, PersonalKeys, ReadKeyError};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{KeyFilter, SearchedText, StatusFilter};
use keyward_domain::rate::Rate;
use poem_openapi::{ApiResponse, OpenApi};

use super::cursor::Cursor;
use super::list_filter::Moment;
use super::representations::{ApiKeyItem, ApiKeyPage, CreateApiKeyRequest, CreatedApiKey};
use super::tag::Tag;
use crate::authentication::Authenticated;
use crate::base_url::BaseUrl;
use crate::entity_tag;
use crate::json::Json;
use crate::paths::API_KEYS;
use crate::problem::{Code, Problem};
use crate::request::{Header, JsonBody, QueryNames, QueryParameter};
use crate::request_id::Source;
use crate::services::{HttpApi, Services};

pub(crate) struct ApiKeysResource;

#[derive(ApiResponse)]
pub(crate) enum CreatedKey {
    /// The new key, with its token in both `key` and `fullKey`. The token is shown only once.
    #[oai(status = 201)]
    Created(
        Json<CreatedApiKey>,
        /// The URL of the new key.
        #[oai(header = "Location")]
        String,
        /// The version of the fields of the key that `PATCH` can change, for `If-Match`.
        #[oai(header = "ETag")]
        String,
        /// `no-store`, because the response contains a secret.
        #[oai(header = "Cache-Control")]
        String,
    ),
}

impl CreatedKey {
    pub(super) fn of(issued: &IssuedKey, consumer: &Consumer, base_url: &BaseUrl) -> Self {
        Self::Created(
            Json(CreatedApiKey::new(issued, consumer)),
            base_url.link(format_args!("{API_KEYS}/{}", issued.key.id)),
            entity_tag::of_key(&issued.key),
            "no-store".to_owned(),
        )
    }
}

#[derive(ApiResponse)]
pub(crate) enum ListedKeys {
    /// A page of keys, newest first.
    #[oai(status = 200)]
    Page(
        Json<ApiKeyPage>,
        /// The URL of the next page, with `rel="next"` (RFC 8288). Absent on the last page.
        #[oai(header = "Link")]
        Option<String>,
    ),
}

#[OpenApi(prefix_path = API_KEYS, tag = "Tag::ApiKeys")]
impl ApiKeysResource {
    /// Create an API key
    ///
    /// The new key acts as the same consumer as the calling key, which becomes its parent and must be able to
    /// manage keys. A consumer has at most 100 valid keys, unless the installation sets another limit. With
    /// `Idempotency-Key`, the request can be repeated safely.
    #[oai(path = "/", method = "post", operation_id = "createApiKey")]
    async fn create(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        source: Source,
        /// Marks this request, so that repeating it within 24 hours creates no second key: 1 to 255 visible
        /// characters of ASCII, in quotation marks or without; without them no comma, semicolon, quotation mark or
        /// backslash. Make a new one for each such request, such as a random UUID. Scoped to the consumer.
        #[oai(name = "Idempotency-Key")]
        Header(idempotency_key): Header<Option<ChosenKey>>,
        draft: JsonBody<CreateApiKeyRequest>,
    ) -> Result<CreatedKey, Problem> {
        query.only(&[])?;
        let holder = authenticated.0.as_holder();
        let digest = draft.0.request_digest();
        let idempotency_key = idempotency_key.map(|key| key.for_request(digest));
        let HttpApi { keys, base_url, .. } = &services.api;
        let issued = match keys.issue(&holder, draft.0, idempotency_key, source.0).await {
            Ok(issued) => issued,
            Err(AddKeyError::AlreadyCreated(id)) => {
                return Err(with_key(Code::AlreadyCreated, keys, &holder, id).await);
            }
            Err(error) => return Err(not_issued(error, keys.change_rate())),
        };
        Ok(CreatedKey::of(&issued, holder.consumer(), base_url))
    }

    /// List API keys
    ///
    /// The keys of the calling key's consumer, newest first, without their tokens. A calling key that cannot
    /// manage keys sees only itself. Repeated and unknown query parameters are refused.
    #[oai(path = "/", method = "get", operation_id = "listApiKeys")]
    #[expect(clippy::too_many_arguments, reason = "each is a part of the request")]
    async fn list(
        &self,
        authenticated: Authenticated,
        query: QueryNames,
        services: &Services,
        /// The maximum number of keys on the page.
        limit: QueryParameter<PageSize>,
        /// The `nextCursor` of the previous page. It includes `status`, `search` and `expires_before`: leave
        /// them out, or unchanged.
        cursor: QueryParameter<Cursor>,
        /// Which keys to list. Defaults to `valid` if `cursor` is not given.
        status: QueryParameter<StatusFilter>,
        /// Lists only keys with this text in their name, their description or the last four characters of
        /// their token, whatever its case; or, for a whole `hint`, only keys with exactly that one. At most
        /// 500 code points after normalization (NFC) and trimming. Control characters other than line feeds, and
        /// texts that contain an API key, are refused.
        search: QueryParameter<SearchedText>,
        /// Lists only valid keys with an `expiresAt` before this time, in RFC 3339 format. With `status=revoked`,
        /// no key is listed.
        expires_before: QueryParameter<Moment>,
    ) -> Result<ListedKeys, Problem> {
        query.only(&["limit", "cursor", "status", "search", "expires_before"])?;
        if let Some(cursor) = &cursor.0
            && !cursor.agrees_with(status.0, search.0.as_ref(), expires_before.0)
        {
            return Err(Problem::with_detail(
                Code::MalformedQuery,
                "The cursor belongs to a list with another `status`, `search` or `expires_before`: leave these out, or as they were.",
            ));
        }
        let (status, search, expires_before, after) = match cursor.0 {
            Some(cursor) => (
                cursor.status,
                cursor.search,
                cursor.expires_before,
                Some(cursor.after),
            ),
            None => (status.0.unwrap_or_default(), search.0, expires_before.0, None),
        };
        let filter = KeyFilter::new(status, search.as_ref().map(SearchedText::as_str))
            .expiring_before(expires_before.map(|Moment(time)| time));
        let page = PageRequest {
            size: limit.0.unwrap_or_default(),
            after,
        };
        let holder = authenticated.0.as_holder();
        let HttpApi { keys, base_url, .. } = &services.api;
        let page = keys
            .list(&holder, filter, page, authenticated.0.accepted_at())
            .await?;

        let next_cursor = page.next.map(|after| {
            Cursor {
                status,
                search,
                expires_before,
                after,
            }
            .encode()
        });
        let next_page = |cursor: &String| base_url.next_page(API_KEYS, limit.0, cursor);
        let link = next_cursor.as_ref().map(next_page);
        let items = page
            .items
            .iter()
            .map(|key| ApiKeyItem::new(key, &authenticated.0))
            .collect();
        Ok(ListedKeys::Page(Json(ApiKeyPage { items, next_cursor }), link))
    }
}

/// The problem of a repeated request, with the key that an earlier one created. Its token cannot be shown
/// again.
pub(crate) async fn with_key(code: Code, keys: &PersonalKeys, holder: &Holder, id: ApiKeyId) -> Problem {
    match keys.read(holder, id).await {
        Ok(key) => Problem::with_key(code, id, Some(key.hint)),
        // Retention has removed it since.
        Err(ReadKeyError::NotFound) => Problem::with_key(code, id, None),
        Err(ReadKeyError::Storage(error)) => error.into(),
    }
}

fn not_issued(error: AddKeyError, rate: Rate) -> Problem {
    match error {
        // The key was revoked, or its user left, after authentication.
        AddKeyError::HolderGone => Code::InvalidToken.into(),
        AddKeyError::MayNotManageKeys => Code::KeyMayNotManageKeys.into(),
        AddKeyError::Throttled(throttled) => Problem::throttled(throttled, rate),
        AddKeyError::AlreadyCreated(id) => Problem::with_key(Code::AlreadyCreated, id, None),
        AddKeyError::IdempotencyKeyReused => Code::IdempotencyKeyReused.into(),
        AddKeyError::InProgress => Problem::in_progress(),
        AddKeyError::LimitReached(limit) => Problem::with_detail(
            Code::KeyLimitReached,
            format!("At most {} valid keys are allowed: revoke one first.", limit.0),
        ),
        AddKeyError::TreeTooDeep => Code::KeyTreeTooDeep.into(),
        AddKeyError::InvalidExpiry(error) => Problem::invalid_field("expiresAt", error),
        AddKeyError::Storage(error) => error.into(),
    }
}
