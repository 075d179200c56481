//! The tables as diesel sees them: identifiers are 16 bytes, moments are milliseconds since 1970. Kept by
//! hand; `cargo xtask schema --check` compares them with the migrated database.

diesel::table! {
    access_changes (number) {
        number -> BigInt,
        concerns_kind -> Text,
        concerns_id -> Nullable<Binary>,
    }
}

diesel::table! {
    access_counter (only_row) {
        only_row -> BigInt,
        number -> BigInt,
    }
}

diesel::table! {
    api_key_search (number) {
        number -> BigInt,
        key_id -> Binary,
    }
}

diesel::table! {
    api_keys (id) {
        id -> Binary,
        consumer_id -> Binary,
        organization_id -> Binary,
        digest -> Binary,
        hint -> Text,
        name -> Text,
        description -> Text,
        search_text -> Text,
        can_manage_keys -> BigInt,
        created_by_user_id -> Nullable<Binary>,
        created_by_key_id -> Nullable<Binary>,
        adoptive_parent_key_id -> Nullable<Binary>,
        tree_depth -> BigInt,
        skip_key_id -> Nullable<Binary>,
        rotated_from_key_id -> Nullable<Binary>,
        rotated_to_key_id -> Nullable<Binary>,
        idempotency_key -> Nullable<Binary>,
        request_digest -> Nullable<Binary>,
        created_at -> BigInt,
        last_used_at -> Nullable<BigInt>,
        last_used_from -> Nullable<Text>,
        revoked_at -> Nullable<BigInt>,
        end_came_at -> Nullable<BigInt>,
        revoked_by_kind -> Nullable<Text>,
        revoked_by_id -> Nullable<Binary>,
        revoked_reason -> Nullable<Text>,
        revoked_note -> Nullable<Text>,
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
    audit_feed (only_row) {
        only_row -> BigInt,
        log_id -> Text,
        removed_through -> BigInt,
    }
}

diesel::table! {
    audit_positions (position) {
        position -> BigInt,
        event_id -> Binary,
    }
}

diesel::table! {
    installation (only_row) {
        only_row -> BigInt,
        set_up_at -> Nullable<BigInt>,
        setup_link_digest -> Nullable<Binary>,
        setup_link_expires_at -> Nullable<BigInt>,
        browser_key -> Nullable<Binary>,
    }
}

diesel::table! {
    invitations (id) {
        id -> Binary,
        organization_id -> Binary,
        digest -> Binary,
        invitee -> Text,
        role -> Text,
        invited_by_kind -> Text,
        invited_by_id -> Nullable<Binary>,
        idempotency_key -> Nullable<Binary>,
        created_at -> BigInt,
        expires_at -> BigInt,
        accepted_at -> Nullable<BigInt>,
        accepted_membership_id -> Nullable<Binary>,
        revoked_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    memberships (id) {
        id -> Binary,
        organization_id -> Binary,
        user_id -> Binary,
        role -> Text,
        joined_at -> BigInt,
        ended_at -> Nullable<BigInt>,
        end_came_at -> Nullable<BigInt>,
        keys_removed_at -> Nullable<BigInt>,
        changes_empty_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    organizations (id) {
        id -> Binary,
        slug -> Text,
        name -> Text,
        new_keys_manage_keys -> BigInt,
        longest_key_life_days -> Nullable<BigInt>,
        created_at -> BigInt,
    }
}

diesel::table! {
    project_members (membership_id, project_id) {
        membership_id -> Binary,
        project_id -> Binary,
        added_at -> BigInt,
    }
}

diesel::table! {
    projects (id) {
        id -> Binary,
        organization_id -> Binary,
        name -> Text,
        search_text -> Text,
        idempotency_key -> Nullable<Binary>,
        created_at -> BigInt,
        archived_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    replicas (id) {
        id -> Binary,
        name -> Text,
        acknowledged -> BigInt,
    }
}

diesel::table! {
    retention_clock (only_row) {
        only_row -> BigInt,
        believed_at -> BigInt,
    }
}

diesel::table! {
    schema_compatibility (only_row) {
        only_row -> BigInt,
        minimum_reader -> Text,
    }
}

diesel::table! {
    sessions (id) {
        id -> Binary,
        user_id -> Binary,
        digest -> Binary,
        started_at -> BigInt,
        started_from -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        last_seen_at -> BigInt,
    }
}

diesel::table! {
    sign_in_throttle (bucket) {
        bucket -> Binary,
        empty_at -> BigInt,
    }
}

diesel::table! {
    users (id) {
        id -> Binary,
        username -> Text,
        display_name -> Text,
        search_text -> Text,
        password_hash -> Text,
        created_at -> BigInt,
    }
}

diesel::joinable!(api_keys -> memberships (consumer_id));
diesel::joinable!(api_keys -> organizations (organization_id));
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
    audit_events,
    audit_events_removal,
    audit_feed,
    audit_positions,
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
