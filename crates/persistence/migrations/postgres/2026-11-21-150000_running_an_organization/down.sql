DROP INDEX audit_events_organization_idx;
DROP INDEX audit_events_actor_idx;
DROP INDEX audit_events_nameless_actor_idx;
DROP INDEX audit_events_action_idx;
DROP INDEX audit_events_subject_idx;
DROP INDEX audit_events_object_idx;
DROP INDEX audit_events_installation_idx;
CREATE INDEX audit_events_organization_id_id_idx ON audit_events (organization_id, id)
    WHERE organization_id IS NOT NULL;
CREATE INDEX audit_events_installation_idx ON audit_events (id) WHERE organization_id IS NULL;
ALTER TABLE audit_events
    DROP COLUMN object_kind,
    DROP COLUMN object_id,
    DROP CONSTRAINT audit_events_subject_kind_check,
    ADD CONSTRAINT audit_events_subject_kind_check
        CHECK (subject_kind IN ('installation', 'organization', 'user', 'membership', 'api_key', 'session')) NOT VALID;
ALTER TABLE sessions DROP COLUMN started_from, DROP COLUMN user_agent;
DROP TRIGGER api_keys_organization ON api_keys;
DROP FUNCTION api_keys_organization();
ALTER TABLE api_keys
    DROP COLUMN last_used_at,
    DROP COLUMN last_used_from,
    DROP COLUMN revoked_note,
    DROP COLUMN organization_id;
ALTER TABLE api_keys RESET (fillfactor);
DROP TABLE project_members;
DROP TABLE projects;
DROP TABLE invitations;
DROP INDEX memberships_organization_id_id_idx;
ALTER TABLE users DROP COLUMN search_text;
