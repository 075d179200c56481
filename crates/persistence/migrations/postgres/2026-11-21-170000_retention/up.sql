-- Kind: additive

-- What is over is removed after a while, portion by portion. Everything is added; the version before this one goes on
-- beside it, and removes nothing.

-- The nearest of the keys that this one came from which is still kept, once its parent is not. No foreign key: it is
-- set again in the transaction that removes what it names.
ALTER TABLE api_keys ADD COLUMN adopted_by_key_id uuid;
-- The keys next below a key: its children, and those that it adopted. It takes the place of
-- api_keys_created_by_key_id_idx, which stays for the version before this one. Not partial, though keys that no key
-- created are of no use here: PostgreSQL's planner passes over the statistics of a partial index.
CREATE INDEX api_keys_next_above_idx ON api_keys (coalesce(adopted_by_key_id, created_by_key_id));
-- Revoked keys, as they are removed: the earliest revoked first and, of those that one act revoked, children before
-- their parents, who are older.
CREATE INDEX api_keys_revoked_at_idx ON api_keys (revoked_at, id DESC) WHERE revoked_at IS NOT NULL;
-- Memberships that have ended, whose keys were perhaps never revoked.
CREATE INDEX memberships_ended_at_idx ON memberships (ended_at, id) WHERE ended_at IS NOT NULL;

-- Invitations by when they were, or will be, over.
CREATE INDEX invitations_over_since_idx ON invitations (coalesce(accepted_at, revoked_at, expires_at));

-- Throttle buckets that ran empty. Every attempt to sign in changes this index, in spite of the room on the table's
-- pages: that is little beside the work on a password.
CREATE INDEX sign_in_throttle_empty_at_idx ON sign_in_throttle (empty_at);

-- Audit events are never changed, and are removed only by a transaction that says until when, and only those from
-- before that. Last, because nobody writes an event from here to the end of the migration.
DROP TRIGGER audit_events_append_only ON audit_events;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_change_audit_events();
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_append_only;
-- After a transaction that set it, a setting is not absent but empty.
CREATE TRIGGER audit_events_kept BEFORE DELETE ON audit_events
    FOR EACH ROW
    WHEN (OLD.occurred_at >= coalesce(
        nullif(current_setting('keyward.audit_events_removable_before', true), '')::timestamptz, '-infinity'))
    EXECUTE FUNCTION refuse_to_change_audit_events();
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_kept;
