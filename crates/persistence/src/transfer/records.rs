//! One record for each table: its columns in their order, whichever database they come from.
//!
//! Rows are read by position, so a record with a column too few or too many does not compile, and written by name.
//! Tests compare the records with the catalogues of both databases.

mod check;

use diesel::prelude::{Insertable, Queryable};
use serde::{Deserialize, Serialize};

use super::columns::{Bytes, Flag, Id, Moment, Number, Words};
use crate::{postgres, sqlite};

macro_rules! records {
    ($($(#[$doc:meta])* $Record:ident of $table:ident { $($column:ident: $Value:ty,)* })*) => { $(
        $(#[$doc])*
        #[derive(Debug, Serialize, Deserialize, Queryable, Insertable)]
        #[serde(deny_unknown_fields)]
        #[diesel(table_name = postgres::schema::$table, table_name = sqlite::schema::$table)]
        #[diesel(treat_none_as_default_value = false)]
        pub(crate) struct $Record {
            $($column: $Value,)*
        }

        impl $Record {
            /// The columns that are moved. Some others are made of these by the database.
            pub(crate) const fn postgres_columns() -> ($(postgres::schema::$table::$column,)*) {
                ($(postgres::schema::$table::$column,)*)
            }

            /// The same columns as SQLite has them.
            pub(crate) const fn sqlite_columns() -> ($(sqlite::schema::$table::$column,)*) {
                ($(sqlite::schema::$table::$column,)*)
            }
        }
    )* };
}

records! {
    Organization of organizations {
        id: Id,
        slug: Words,
        name: Words,
        new_keys_manage_keys: Flag,
        created_at: Moment,
    }

    User of users {
        id: Id,
        username: Words,
        display_name: Words,
        search_text: Words,
        password_hash: Words,
        created_at: Moment,
    }

    Membership of memberships {
        id: Id,
        organization_id: Id,
        user_id: Id,
        role: Words,
        joined_at: Moment,
        ended_at: Option<Moment>,
        keys_removed_at: Option<Moment>,
        changes_empty_at: Option<Moment>,
    }

    Invitation of invitations {
        id: Id,
        organization_id: Id,
        digest: Bytes,
        invitee: Words,
        role: Words,
        invited_by_kind: Words,
        invited_by_id: Option<Id>,
        creation_nonce: Option<Bytes>,
        created_at: Moment,
        expires_at: Moment,
        accepted_at: Option<Moment>,
        accepted_membership_id: Option<Id>,
        revoked_at: Option<Moment>,
    }

    Project of projects {
        id: Id,
        organization_id: Id,
        name: Words,
        search_text: Words,
        created_at: Moment,
        archived_at: Option<Moment>,
    }

    ProjectMember of project_members {
        membership_id: Id,
        project_id: Id,
        added_at: Moment,
    }

    ApiKey of api_keys {
        id: Id,
        consumer_id: Id,
        digest: Bytes,
        hint: Words,
        name: Words,
        description: Words,
        search_text: Words,
        can_manage_keys: Flag,
        created_by_user_id: Option<Id>,
        created_by_key_id: Option<Id>,
        adopted_by_key_id: Option<Id>,
        tree_depth: Number,
        skip_key_id: Option<Id>,
        creation_nonce: Option<Bytes>,
        created_at: Moment,
        last_used_at: Option<Moment>,
        last_used_from: Option<Words>,
        revoked_at: Option<Moment>,
        revoked_by_kind: Option<Words>,
        revoked_by_id: Option<Id>,
        revoked_reason: Option<Words>,
        revoked_note: Option<Words>,
    }

    AuditEvent of audit_events {
        id: Id,
        occurred_at: Moment,
        organization_id: Option<Id>,
        actor_kind: Words,
        actor_id: Option<Id>,
        action: Words,
        subject_kind: Words,
        subject_id: Option<Id>,
        object_kind: Option<Words>,
        object_id: Option<Id>,
        outcome: Words,
        source_address: Option<Words>,
        request_id: Option<Words>,
    }

    Session of sessions {
        id: Id,
        user_id: Id,
        digest: Bytes,
        started_at: Moment,
        started_from: Option<Words>,
        user_agent: Option<Words>,
        last_seen_at: Moment,
    }

    Throttle of sign_in_throttle {
        bucket: Bytes,
        empty_at: Moment,
    }

    Installation of installation {
        only_row: Flag,
        set_up_at: Option<Moment>,
        setup_link_digest: Option<Bytes>,
        setup_link_expires_at: Option<Moment>,
        browser_key: Option<Bytes>,
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
