//! The tables that only SQLite has, or has in its own way, and those of both databases. Kept by hand; `cargo
//! xtask schema --check` compares them with the migrated database.

pub(crate) use super::tables::*;

diesel::table! {
    api_key_search (number) {
        number -> BigInt,
        key_id -> Binary,
    }
}

diesel::table! {
    audit_events (id) {
        id -> Binary,
        occurred_at -> BigInt,
        organization_id -> Nullable<Binary>,
        actor_kind -> Text,
        actor_id -> Nullable<Binary>,
        action -> Text,
        subject_kind -> Text,
        subject_id -> Nullable<Binary>,
        object_kind -> Nullable<Text>,
        object_id -> Nullable<Binary>,
        old_value -> Nullable<Text>,
        new_value -> Nullable<Text>,
        outcome -> Text,
        source_address -> Nullable<Text>,
        request_id -> Nullable<Text>,
    }
}

diesel::table! {
    audit_events_removal (removable_before) {
        removable_before -> BigInt,
    }
}

diesel::table! {
    audit_positions (position) {
        position -> BigInt,
        event_id -> Binary,
    }
}

diesel::allow_tables_to_appear_in_same_query!(audit_events, audit_positions);
