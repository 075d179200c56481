//! The tables that only PostgreSQL has, or has in its own way, and those of both databases. Kept by hand;
//! `cargo xtask schema --check` compares them with the migrated database.

pub(crate) use super::tables::*;

diesel::table! {
    api_key_search (key_id) {
        key_id -> Uuid,
        organization_id -> Uuid,
        search_text -> Text,
    }
}

diesel::table! {
    audit_events (id) {
        id -> Uuid,
        position -> BigInt,
        occurred_at -> Timestamptz,
        organization_id -> Nullable<Uuid>,
        actor_kind -> Text,
        actor_id -> Nullable<Uuid>,
        action -> Text,
        subject_kind -> Text,
        subject_id -> Nullable<Uuid>,
        object_kind -> Nullable<Text>,
        object_id -> Nullable<Uuid>,
        old_value -> Nullable<Text>,
        new_value -> Nullable<Text>,
        outcome -> Text,
        source_address -> Nullable<Text>,
        request_id -> Nullable<Text>,
    }
}
