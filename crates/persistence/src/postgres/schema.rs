//! The tables as diesel sees them. Kept by hand; `cargo xtask schema --check` compares them with the migrated
//! database.

diesel::table! {
    access_changes (number) {
        number -> Int8,
        concerns_kind -> Text,
        concerns_id -> Nullable<Uuid>,
    }
}

diesel::table! {
    access_counter (only_row) {
        only_row -> Bool,
        number -> Int8,
    }
}

diesel::table! {
    api_key_search (key_id) {
        key_id -> Uuid,
        organization_id -> Uuid,
        search_text -> Text,
    }
}

diesel::table! {
    api_keys (id) {
        id -> Uuid,
        consumer_id -> Uuid,
        organization_id -> Uuid,
        digest -> Binary,
        hint -> Text,
        name -> Text,
        description -> Text,
        search_text -> Text,
        can_manage_keys -> Bool,
        created_by_user_id -> Nullable<Uuid>,
        created_by_key_id -> Nullable<Uuid>,
        adoptive_parent_key_id -> Nullable<Uuid>,
        tree_depth -> Int4,
        skip_key_id -> Nullable<Uuid>,
        rotated_from_key_id -> Nullable<Uuid>,
        rotated_to_key_id -> Nullable<Uuid>,
        idempotency_key -> Nullable<Binary>,
        request_digest -> Nullable<Binary>,
        created_at -> Timestamptz,
        last_used_at -> Nullable<Timestamptz>,
        last_used_from -> Nullable<Text>,
        idle_since_day -> Int4,
        used_on_day -> Nullable<Int4>,
        revoked_at -> Nullable<Timestamptz>,
        end_came_at -> Nullable<Timestamptz>,
        revoked_by_kind -> Nullable<Text>,
        revoked_by_id -> Nullable<Uuid>,
        revoked_reason -> Nullable<Text>,
        revoked_note -> Nullable<Text>,
    }
}

diesel::table! {
    audit_events (id) {
        id -> Uuid,
        position -> Int8,
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

diesel::table! {
    audit_feed (only_row) {
        only_row -> Bool,
        log_id -> Text,
        removed_through -> Int8,
    }
}

diesel::table! {
    installation (only_row) {
        only_row -> Bool,
        set_up_at -> Nullable<Timestamptz>,
        setup_link_digest -> Nullable<Binary>,
        setup_link_expires_at -> Nullable<Timestamptz>,
        browser_key -> Nullable<Binary>,
    }
}

diesel::table! {
    invitations (id) {
        id -> Uuid,
        organization_id -> Uuid,
        digest -> Binary,
        invitee -> Text,
        role -> Text,
        invited_by_kind -> Text,
        invited_by_id -> Nullable<Uuid>,
        idempotency_key -> Nullable<Binary>,
        created_at -> Timestamptz,
        expires_at -> Timestamptz,
        accepted_at -> Nullable<Timestamptz>,
        accepted_membership_id -> Nullable<Uuid>,
        revoked_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    memberships (id) {
        id -> Uuid,
        organization_id -> Uuid,
        user_id -> Uuid,
        role -> Text,
        joined_at -> Timestamptz,
        ended_at -> Nullable<Timestamptz>,
        end_came_at -> Nullable<Timestamptz>,
        keys_removed_at -> Nullable<Timestamptz>,
        changes_empty_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    organizations (id) {
        id -> Uuid,
        slug -> Text,
        name -> Text,
        new_keys_manage_keys -> Bool,
        longest_key_life_days -> Nullable<Int4>,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    project_members (membership_id, project_id) {
        membership_id -> Uuid,
        project_id -> Uuid,
        added_at -> Timestamptz,
    }
}

diesel::table! {
    projects (id) {
        id -> Uuid,
        organization_id -> Uuid,
        name -> Text,
        search_text -> Text,
        idempotency_key -> Nullable<Binary>,
        created_at -> Timestamptz,
        archived_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    replicas (id) {
        id -> Uuid,
        name -> Text,
        acknowledged -> Int8,
    }
}

diesel::table! {
    retention_clock (only_row) {
        only_row -> Bool,
        believed_at -> Timestamptz,
    }
}

diesel::table! {
    schema_compatibility (only_row) {
        only_row -> Bool,
        minimum_reader -> Text,
    }
}

diesel::table! {
    sessions (id) {
        id -> Uuid,
        user_id -> Uuid,
        digest -> Binary,
        started_at -> Timestamptz,
        started_from -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        last_seen_at -> Timestamptz,
    }
}

diesel::table! {
    sign_in_throttle (bucket) {
        bucket -> Binary,
        empty_at -> Timestamptz,
    }
}

diesel::table! {
    users (id) {
        id -> Uuid,
        username -> Text,
        display_name -> Text,
        search_text -> Text,
        password_hash -> Text,
        created_at -> Timestamptz,
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
    api_key_search,
    api_keys,
    audit_events,
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
