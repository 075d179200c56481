//! A key as it is stored.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use keyward_domain::api_key::{
    ApiKey, KeyDescription, KeyName, LastUse, Origin, Revocation, RevocationNote, RevocationReason,
};
use keyward_domain::audit::Actor;
use keyward_domain::id::{ApiKeyId, MembershipId, UserId};
use keyward_domain::ports::{NewApiKey, StorageError};
use keyward_domain::token::TokenHint;

use super::super::dialect::Database;
use super::super::schema::api_keys;
use super::super::validity::StoredEnd;
use crate::columns::{StoredFlag, StoredId, StoredMoment};
use crate::stored_row::StoredRow;

#[derive(Queryable, Selectable)]
#[diesel(table_name = api_keys, check_for_backend(Database))]
pub(crate) struct KeyRow {
    id: StoredId,
    consumer_id: StoredId,
    hint: String,
    name: String,
    description: String,
    created_by_user_id: Option<StoredId>,
    created_by_key_id: Option<StoredId>,
    created_at: StoredMoment,
    #[diesel(select_expression = (api_keys::revoked_at, api_keys::end_came_at))]
    end: StoredEnd,
    revoked_by_kind: Option<String>,
    revoked_by_id: Option<StoredId>,
    revoked_reason: Option<String>,
    last_used_at: Option<StoredMoment>,
    last_used_from: Option<String>,
    revoked_note: Option<String>,
    adoptive_parent_key_id: Option<StoredId>,
    can_manage_keys: StoredFlag,
    rotated_from_key_id: Option<StoredId>,
    rotated_to_key_id: Option<StoredId>,
}

impl KeyRow {
    /// Whether the key is not revoked, without parsing the rest of the row.
    pub(super) fn is_valid(&self, now: DateTime<Utc>) -> bool {
        !self.end.has_come(now)
    }

    /// Its planned end has come and is not recorded.
    pub(super) fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.end.is_due(now)
    }
}

impl TryFrom<KeyRow> for ApiKey {
    type Error = StorageError;

    fn try_from(row: KeyRow) -> Result<Self, StorageError> {
        let stored = StoredRow::new("api_keys", row.id.0);
        let origin = origin(&stored, &row)?;
        let revocation = revocation(&stored, &row)?;
        let last_use = last_use(&stored, &row)?;
        let key = |id: Option<StoredId>| id.map(|id| ApiKeyId::from_uuid(id.0));
        Ok(Self {
            id: ApiKeyId::from_uuid(row.id.0),
            consumer_id: MembershipId::from_uuid(row.consumer_id.0),
            hint: stored.read("hint", TokenHint::parse(&row.hint))?,
            name: stored.read("name", KeyName::from_storage(row.name))?,
            description: stored.read("description", KeyDescription::from_storage(row.description))?,
            origin,
            adoptive_parent_id: key(row.adoptive_parent_key_id),
            can_manage_keys: row.can_manage_keys.0,
            created_at: stored.moment("created_at", row.created_at)?,
            revocation,
            last_use,
            rotated_from: key(row.rotated_from_key_id),
            rotated_to: key(row.rotated_to_key_id),
        })
    }
}

fn origin(stored: &StoredRow, row: &KeyRow) -> Result<Origin, StorageError> {
    match (row.created_by_user_id, row.created_by_key_id) {
        (Some(user), None) => Ok(Origin::Console(UserId::from_uuid(user.0))),
        (None, Some(key)) => Ok(Origin::Key(ApiKeyId::from_uuid(key.0))),
        (None, None) => stored.present("created_by_user_id", None),
        (Some(_), Some(_)) => Err(stored.corrupt("created_by_key_id", "a second origin".to_owned())),
    }
}

fn revocation(stored: &StoredRow, row: &KeyRow) -> Result<Option<Revocation>, StorageError> {
    let Some(end) = row.end.read(stored, "revoked_at")? else {
        let is_described = row.revoked_by_kind.is_some()
            || row.revoked_by_id.is_some()
            || row.revoked_reason.is_some()
            || row.revoked_note.is_some();
        return stored.nothing_unless("revoked_at", is_described);
    };
    let kind = stored.present("revoked_by_kind", row.revoked_by_kind.as_deref())?;
    let reason = stored.present("revoked_reason", row.revoked_reason.as_deref())?;
    let note = row.revoked_note.as_deref().map(RevocationNote::from_storage);
    Ok(Some(Revocation {
        end,
        by: stored.reference(
            Actor::from_kind,
            ("revoked_by_kind", kind),
            ("revoked_by_id", row.revoked_by_id.map(|id| id.0)),
        )?,
        reason: stored.word("revoked_reason", RevocationReason::from_word(reason))?,
        note: stored.read("revoked_note", note.transpose())?,
    }))
}

fn last_use(stored: &StoredRow, row: &KeyRow) -> Result<Option<LastUse>, StorageError> {
    let Some(at) = row.last_used_at else {
        return stored.nothing_unless("last_used_at", row.last_used_from.is_some());
    };
    let from = row.last_used_from.as_deref().map(str::parse::<IpAddr>);
    Ok(Some(LastUse {
        at: stored.moment("last_used_at", at)?,
        from: stored.read("last_used_from", from.transpose())?,
    }))
}

/// The editable columns of a key.
#[derive(AsChangeset, Insertable)]
#[diesel(table_name = api_keys, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct WordsRow<'a> {
    name: &'a str,
    description: &'a str,
    search_text: String,
}

impl<'a> From<&'a ApiKey> for WordsRow<'a> {
    fn from(key: &'a ApiKey) -> Self {
        Self {
            name: key.name.as_str(),
            description: key.description.as_str(),
            search_text: key.search_text(),
        }
    }
}

#[derive(AsChangeset, Insertable)]
#[diesel(table_name = api_keys, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct EndRow<'a> {
    revoked_at: Option<StoredMoment>,
    end_came_at: Option<StoredMoment>,
    revoked_by_kind: Option<&'static str>,
    revoked_by_id: Option<StoredId>,
    revoked_reason: Option<&'a str>,
    revoked_note: Option<&'a str>,
}

impl<'a> From<&'a ApiKey> for EndRow<'a> {
    fn from(key: &'a ApiKey) -> Self {
        let end = StoredEnd::from(key.end());
        let revocation = key.revocation.as_ref();
        let by = revocation.map(|revocation| (revocation.by.kind(), revocation.by.id()));
        Self {
            revoked_at: end.at,
            end_came_at: end.came_at,
            revoked_by_kind: by.map(|(kind, _)| kind),
            revoked_by_id: by.and_then(|(_, id)| id).map(StoredId),
            revoked_reason: revocation.map(|revocation| revocation.reason.as_str()),
            revoked_note: revocation
                .and_then(|revocation| revocation.note.as_ref())
                .map(RevocationNote::as_str),
        }
    }
}

/// A valid key to be stored.
// Absent values are inserted as NULL: with `DEFAULT`, the statement would be prepared each time.
#[derive(Insertable)]
#[diesel(table_name = api_keys, treat_none_as_default_value = false)]
pub(super) struct NewKeyRow<'a> {
    id: StoredId,
    consumer_id: StoredId,
    digest: &'a [u8],
    hint: &'a str,
    #[diesel(embed)]
    words: WordsRow<'a>,
    created_by_user_id: Option<StoredId>,
    created_by_key_id: Option<StoredId>,
    adoptive_parent_key_id: Option<StoredId>,
    rotated_from_key_id: Option<StoredId>,
    idempotency_key: Option<Vec<u8>>,
    request_digest: Option<Vec<u8>>,
    created_at: StoredMoment,
    can_manage_keys: StoredFlag,
    #[diesel(embed)]
    end: EndRow<'a>,
}

impl<'a> NewKeyRow<'a> {
    pub(super) fn new(new: &'a NewApiKey) -> Self {
        // The organization's default has been applied already.
        let NewApiKey {
            key,
            organization_decides: _,
            digest,
            idempotency_key,
        } = new;
        let (created_by_user_id, created_by_key_id) = match key.origin {
            Origin::Console(user) => (Some(StoredId(user.as_uuid())), None),
            Origin::Key(parent) => (None, Some(StoredId(parent.as_uuid()))),
        };
        Self {
            id: StoredId(key.id.as_uuid()),
            consumer_id: StoredId(key.consumer_id.as_uuid()),
            digest: digest.as_bytes(),
            hint: key.hint.as_str(),
            words: key.into(),
            created_by_user_id,
            created_by_key_id,
            adoptive_parent_key_id: key.adoptive_parent_id.map(|id| StoredId(id.as_uuid())),
            rotated_from_key_id: key.rotated_from.map(|id| StoredId(id.as_uuid())),
            idempotency_key: idempotency_key.map(|idempotency_key| idempotency_key.to_bytes().to_vec()),
            request_digest: idempotency_key
                .and_then(|idempotency_key| idempotency_key.request())
                .map(|request| request.to_bytes().to_vec()),
            created_at: key.created_at.into(),
            can_manage_keys: StoredFlag(key.can_manage_keys),
            end: key.into(),
        }
    }
}
