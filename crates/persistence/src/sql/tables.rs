//! The tables that both databases have, with the columns that both have, as diesel sees them. Kept by hand;
//! `cargo xtask schema --check` compares them with the migrated databases. A column that one database alone has
//! is named in its own SQL only, and in the test of its schema.
//!
//! `Id`, `Moment`, `Flag` and `Number` are the dialect's. In SQLite they are 16 bytes, milliseconds since 1970,
//! 0 or 1, and an integer.

use super::dialect;

macro_rules! tables {
    ($($table:ident ($($key:ident),+) { $($columns:tt)+ })+) => {
        $(diesel::table! {
            use diesel::sql_types::{BigInt, Binary, Nullable, Text};
            use super::dialect::{Flag, Id, Moment, Number};
            $table ($($key),+) { $($columns)+ }
        })+
    };
}

tables! {
    access_changes (number) {
        number -> BigInt,
        concerns_kind -> Text,
        concerns_id -> Nullable<Id>,
    }

    access_counter (only_row) {
        only_row -> Flag,
        number -> BigInt,
    }

    api_keys (id) {
        id -> Id,
        consumer_id -> Id,
        organization_id -> Id,
        digest -> Binary,
        hint -> Text,
        name -> Text,
        description -> Text,
        search_text -> Text,
        can_manage_keys -> Flag,
        created_by_user_id -> Nullable<Id>,
        created_by_key_id -> Nullable<Id>,
        adoptive_parent_key_id -> Nullable<Id>,
        tree_depth -> Number,
        skip_key_id -> Nullable<Id>,
        rotated_from_key_id -> Nullable<Id>,
        rotated_to_key_id -> Nullable<Id>,
        idempotency_key -> Nullable<Binary>,
        request_digest -> Nullable<Binary>,
        created_at -> Moment,
        tree_began_at -> Moment,
        last_used_at -> Nullable<Moment>,
        last_used_from -> Nullable<Text>,
        revoked_at -> Nullable<Moment>,
        end_came_at -> Nullable<Moment>,
        revoked_by_kind -> Nullable<Text>,
        revoked_by_id -> Nullable<Id>,
        revoked_reason -> Nullable<Text>,
        revoked_note -> Nullable<Text>,
    }

    audit_feed (only_row) {
        only_row -> Flag,
        log_id -> Text,
        removed_through -> BigInt,
    }

    installation (only_row) {
        only_row -> Flag,
        set_up_at -> Nullable<Moment>,
        setup_link_digest -> Nullable<Binary>,
        setup_link_expires_at -> Nullable<Moment>,
        browser_key -> Nullable<Binary>,
    }

    invitations (id) {
        id -> Id,
        organization_id -> Id,
        digest -> Binary,
        invitee -> Text,
        role -> Text,
        invited_by_kind -> Text,
        invited_by_id -> Nullable<Id>,
        idempotency_key -> Nullable<Binary>,
        created_at -> Moment,
        expires_at -> Moment,
        accepted_at -> Nullable<Moment>,
        accepted_membership_id -> Nullable<Id>,
        revoked_at -> Nullable<Moment>,
    }

    memberships (id) {
        id -> Id,
        organization_id -> Id,
        user_id -> Id,
        role -> Text,
        joined_at -> Moment,
        ended_at -> Nullable<Moment>,
        end_came_at -> Nullable<Moment>,
        keys_removed_at -> Nullable<Moment>,
        changes_empty_at -> Nullable<Moment>,
    }

    organizations (id) {
        id -> Id,
        slug -> Text,
        name -> Text,
        new_keys_manage_keys -> Flag,
        longest_key_life_days -> Nullable<Number>,
        created_at -> Moment,
    }

    project_members (membership_id, project_id) {
        membership_id -> Id,
        project_id -> Id,
        added_at -> Moment,
    }

    projects (id) {
        id -> Id,
        organization_id -> Id,
        name -> Text,
        search_text -> Text,
        idempotency_key -> Nullable<Binary>,
        created_at -> Moment,
        archived_at -> Nullable<Moment>,
    }

    replicas (id) {
        id -> Id,
        name -> Text,
        acknowledged -> BigInt,
    }

    retention_clock (only_row) {
        only_row -> Flag,
        believed_at -> Moment,
    }

    schema_compatibility (only_row) {
        only_row -> Flag,
        minimum_reader -> Text,
    }

    sessions (id) {
        id -> Id,
        user_id -> Id,
        digest -> Binary,
        started_at -> Moment,
        started_from -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        last_seen_at -> Moment,
    }

    sign_in_throttle (bucket) {
        bucket -> Binary,
        empty_at -> Moment,
    }

    users (id) {
        id -> Id,
        username -> Text,
        display_name -> Text,
        search_text -> Text,
        password_hash -> Text,
        created_at -> Moment,
    }
}

diesel::joinable!(api_keys -> memberships (consumer_id));
diesel::joinable!(api_keys -> users (created_by_user_id));
diesel::joinable!(invitations -> memberships (accepted_membership_id));
diesel::joinable!(invitations -> organizations (organization_id));
diesel::joinable!(memberships -> organizations (organization_id));
diesel::joinable!(memberships -> users (user_id));
diesel::joinable!(project_members -> memberships (membership_id));
diesel::joinable!(project_members -> projects (project_id));
diesel::joinable!(projects -> organizations (organization_id));
diesel::joinable!(sessions -> users (user_id));

diesel::allow_tables_to_appear_in_same_query!(
    access_changes,
    access_counter,
    api_keys,
    audit_feed,
    installation,
    invitations,
    memberships,
    organizations,
    project_members,
    projects,
    replicas,
    retention_clock,
    schema_compatibility,
    sessions,
    sign_in_throttle,
    users
);
