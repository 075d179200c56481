//! One record type per table, with its columns in order, for both databases.
//!
//! Rows are read by position, so a missing or extra column does not compile, and written by name. Tests
//! compare the records with the catalogs of both databases. `as` names the domain parser that a text or bytes
//! column must pass, and `also` the method of `cross_column.rs` that checks the row.

mod check;
mod cross_column;

use std::net::IpAddr;
use std::str::FromStr;

use diesel::prelude::{Insertable, Queryable};
use keyward_domain::api_key::{KeyDescription, KeyName, RevocationNote, RevocationReason};
use keyward_domain::audit::{Action, Outcome};
use keyward_domain::invitation::Invitee;
use keyward_domain::membership::Role;
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::ports::StorageError;
use keyward_domain::project::ProjectName;
use keyward_domain::token::TokenHint;
use keyward_domain::user::{DisplayName, Username};
use serde::{Deserialize, Serialize};

use super::columns::{Bytes, Moment, TextValue};
use crate::columns::{StoredFlag as Flag, StoredId as Id, StoredNumber as Number};
use crate::stored_row::StoredRow;
use crate::{postgres, sqlite};
use check::{Key, browser_key, depth, digest, idempotency_key, life, unchecked};

/// Checks a column. Only a column that needs no parsing may omit `as`.
macro_rules! look_at {
    ($column:ident of $record:ident, $row:ident) => {
        check::verbatim(&$row, stringify!($column), &$record.$column)?
    };
    ($column:ident of $record:ident, $row:ident, $read:path) => {
        check::read(&$row, stringify!($column), &$record.$column, |content| {
            $read(content)
        })?
    };
}

macro_rules! records {
    ($($Record:ident of $table:ident $(also $across:ident)? {
        $key:ident: $Key:ty $(as $read_key:path)?,
        $($column:ident: $Value:ty $(as $read:path)?,)*
    })*) => {
        $(
            #[derive(Debug, Serialize, Deserialize, Queryable, Insertable)]
            #[serde(deny_unknown_fields)]
            #[diesel(table_name = postgres::schema::$table, table_name = sqlite::schema::$table)]
            #[diesel(treat_none_as_default_value = false)]
            pub(crate) struct $Record {
                $key: $Key,
                $($column: $Value,)*
            }

            impl $Record {
                /// The exported columns. The database derives the others from these.
                pub(crate) const fn postgres_columns() -> (
                    postgres::schema::$table::$key,
                    $(postgres::schema::$table::$column,)*
                ) {
                    (postgres::schema::$table::$key, $(postgres::schema::$table::$column,)*)
                }

                /// The same columns in SQLite's schema.
                pub(crate) const fn sqlite_columns() -> (
                    sqlite::schema::$table::$key,
                    $(sqlite::schema::$table::$column,)*
                ) {
                    (sqlite::schema::$table::$key, $(sqlite::schema::$table::$column,)*)
                }

                /// Whether the domain can read the row. If not, the error is [`StorageError::Corrupt`].
                pub(in crate::transfer) fn check(&self) -> Result<(), StorageError> {
                    let row = StoredRow::new(stringify!($table), self.$key.name_of_row());
                    look_at!($key of self, row $(, $read_key)?);
                    $(look_at!($column of self, row $(, $read)?);)*
                    $(self.$across(&row)?;)?
                    Ok(())
                }
            }
        )*
    };
}

records! {
    Organization of organizations {
        id: Id,
        slug: TextValue as Slug::parse,
        name: TextValue as OrganizationName::from_storage,
        new_keys_manage_keys: Flag,
        longest_key_life_days: Option<Number> as life,
        created_at: Moment,
    }

    User of users {
        id: Id,
        username: TextValue as Username::parse,
        display_name: TextValue as DisplayName::from_storage,
        search_text: TextValue as unchecked,
        password_hash: TextValue as unchecked,
        created_at: Moment,
    }

    Membership of memberships also check_across_columns {
        id: Id,
        organization_id: Id,
        user_id: Id,
        role: TextValue as Role::from_word,
        joined_at: Moment,
        ended_at: Option<Moment>,
        end_came_at: Option<Moment>,
        keys_removed_at: Option<Moment>,
        changes_empty_at: Option<Moment>,
    }

    Invitation of invitations also check_across_columns {
        id: Id,
        organization_id: Id,
        digest: Bytes as digest,
        invitee: TextValue as Invitee::from_storage,
        role: TextValue as Role::from_word,
        invited_by_kind: TextValue as unchecked,
        invited_by_id: Option<Id>,
        idempotency_key: Option<Bytes> as idempotency_key,
        created_at: Moment,
        expires_at: Moment,
        accepted_at: Option<Moment>,
        accepted_membership_id: Option<Id>,
        revoked_at: Option<Moment>,
    }

    Project of projects {
        id: Id,
        organization_id: Id,
        name: TextValue as ProjectName::from_storage,
        search_text: TextValue as unchecked,
        idempotency_key: Option<Bytes> as idempotency_key,
        created_at: Moment,
        archived_at: Option<Moment>,
    }

    ProjectMember of project_members {
        membership_id: Id,
        project_id: Id,
        added_at: Moment,
    }

    ApiKey of api_keys also check_across_columns {
        id: Id,
        consumer_id: Id,
        digest: Bytes as digest,
        hint: TextValue as TokenHint::parse,
        name: TextValue as KeyName::from_storage,
        description: TextValue as KeyDescription::from_storage,
        search_text: TextValue as unchecked,
        can_manage_keys: Flag,
        created_by_user_id: Option<Id>,
        created_by_key_id: Option<Id>,
        adoptive_parent_key_id: Option<Id>,
        tree_depth: Number as depth,
        skip_key_id: Option<Id>,
        rotated_from_key_id: Option<Id>,
        rotated_to_key_id: Option<Id>,
        idempotency_key: Option<Bytes> as idempotency_key,
        request_digest: Option<Bytes> as idempotency_key,
        created_at: Moment,
        tree_began_at: Moment,
        last_used_at: Option<Moment>,
        last_used_from: Option<TextValue> as IpAddr::from_str,
        revoked_at: Option<Moment>,
        end_came_at: Option<Moment>,
        revoked_by_kind: Option<TextValue> as unchecked,
        revoked_by_id: Option<Id>,
        revoked_reason: Option<TextValue> as RevocationReason::from_word,
        revoked_note: Option<TextValue> as RevocationNote::from_storage,
    }

    AuditEvent of audit_events also check_across_columns {
        id: Id,
        occurred_at: Moment,
        organization_id: Option<Id>,
        actor_kind: TextValue as unchecked,
        actor_id: Option<Id>,
        action: TextValue as Action::from_word,
        subject_kind: TextValue as unchecked,
        subject_id: Option<Id>,
        object_kind: Option<TextValue> as unchecked,
        object_id: Option<Id>,
        old_value: Option<TextValue> as unchecked,
        new_value: Option<TextValue> as unchecked,
        outcome: TextValue as Outcome::from_word,
        source_address: Option<TextValue> as IpAddr::from_str,
        request_id: Option<TextValue> as unchecked,
    }

    Session of sessions {
        id: Id,
        user_id: Id,
        digest: Bytes as digest,
        started_at: Moment,
        started_from: Option<TextValue> as IpAddr::from_str,
        user_agent: Option<TextValue> as unchecked,
        last_seen_at: Moment,
    }

    Throttle of sign_in_throttle {
        bucket: Bytes as digest,
        empty_at: Moment,
    }

    Installation of installation {
        only_row: Flag,
        set_up_at: Option<Moment>,
        setup_link_digest: Option<Bytes> as digest,
        setup_link_expires_at: Option<Moment>,
        browser_key: Option<Bytes> as browser_key,
    }
}

impl User {
    pub(super) fn id(&self) -> String {
        self.id.to_string()
    }

    pub(super) fn password_hash(&self) -> &str {
        self.password_hash.as_str()
    }
}
