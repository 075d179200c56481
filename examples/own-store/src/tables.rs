//! The tables of the file. Identifiers rise with time, and so do rows; times are milliseconds since 1970.

use redb::TableDefinition;
use uuid::Uuid;

pub(crate) type Table<K, V> = TableDefinition<'static, K, V>;

/// A kind and, if there are several of it, an identifier.
pub(crate) type Reference<'a> = (&'a str, Option<Uuid>);

/// Slug, name, creation, whether new keys manage keys, and their longest life in days.
pub(crate) const ORGANIZATIONS: Table<Uuid, (&str, &str, i64, bool, Option<u16>)> =
    Table::new("organizations");
pub(crate) const ORGANIZATIONS_BY_SLUG: Table<&str, Uuid> = Table::new("organizations_by_slug");

/// Username, display name, creation.
pub(crate) const PEOPLE: Table<Uuid, (&str, &str, i64)> = Table::new("people");

/// When it comes or came, and whether it came there and then; else it was planned.
pub(crate) type EndRow = (i64, bool);

/// Organization, person, role, beginning, end.
pub(crate) const MEMBERSHIPS: Table<Uuid, (Uuid, Uuid, &str, i64, Option<EndRow>)> =
    Table::new("memberships");
/// Person and membership.
pub(crate) const MEMBERSHIPS_OF_PEOPLE: Table<(Uuid, Uuid), ()> = Table::new("memberships_of_people");

/// When the bucket of a membership's changes will have run empty.
pub(crate) const CHANGES: Table<Uuid, i64> = Table::new("changes");

/// The consumer and the key of a token, by its digest.
pub(crate) const KEYS_BY_DIGEST: Table<[u8; 32], (Uuid, Uuid)> = Table::new("api_keys_by_digest");

/// Key, creation, digest of the request; none of a form.
pub(crate) type CreatedRow = (Uuid, i64, Option<[u8; 16]>);
/// The key that a consumer's form or request created. A form stays used.
pub(crate) const CREATED_WITH: Table<(Uuid, [u8; 16]), CreatedRow> = Table::new("created_with");

/// Actor, action, subject, object, outcome, address, request.
pub(crate) type EventRow<'a> = (
    Reference<'a>,
    &'a str,
    Reference<'a>,
    Option<Reference<'a>>,
    (Option<&'a str>, Option<&'a str>),
    &'a str,
    Option<&'a str>,
    Option<&'a str>,
);
/// By organization, nil for none, moment and event: the log of one organization is one range.
pub(crate) const EVENTS: Table<(Uuid, i64, Uuid), EventRow<'_>> = Table::new("audit_events");
/// The identifiers of all events, in any organization.
pub(crate) const EVENT_IDS: Table<Uuid, ()> = Table::new("audit_event_ids");
