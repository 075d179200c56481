DROP TABLE
    schema_compatibility, replicas, access_changes, access_counter, retention_clock, installation, sign_in_throttle, sessions,
    audit_feed, audit_events, api_key_search,
    api_keys, project_members, projects, invitations, memberships, users, organizations;
DROP FUNCTION
    note_removed_audit_events(), announce_audit_events(), refuse_to_change_audit_events(), api_keys_search(),
    search_grams(uuid, uuid, text), search_span(uuid), api_keys_days(), api_keys_tree(), api_keys_line(),
    api_keys_organization();
