-- Kind: additive

-- What is over is removed after a while, portion by portion.

-- The nearest of the keys that this one came from which is still kept, once its parent is not. No foreign key: it is
-- set again in the transaction that removes what it names.
ALTER TABLE api_keys ADD COLUMN adopted_by_key_id BLOB
    CONSTRAINT api_keys_adopted_by_key_id_check CHECK (length(adopted_by_key_id) = 16);
-- The keys next below a key: its children, and those that it adopted.
CREATE INDEX api_keys_next_above_idx ON api_keys (coalesce(adopted_by_key_id, created_by_key_id));
DROP INDEX api_keys_created_by_key_id_idx;
-- Revoked keys, as they are removed: the earliest revoked first and, of those that one act revoked, children before
-- their parents, who are older.
CREATE INDEX api_keys_revoked_at_idx ON api_keys (revoked_at, id DESC) WHERE revoked_at IS NOT NULL;
-- Memberships that have ended, whose keys were perhaps never revoked.
CREATE INDEX memberships_ended_at_idx ON memberships (ended_at, id) WHERE ended_at IS NOT NULL;

-- Invitations by when they were, or will be, over.
CREATE INDEX invitations_over_since_idx ON invitations (coalesce(accepted_at, revoked_at, expires_at));

-- Throttle buckets that ran empty.
CREATE INDEX sign_in_throttle_empty_at_idx ON sign_in_throttle (empty_at);

-- Audit events are never changed, and are removed only by a transaction that says until when, and only those from
-- before that. It says so here, and takes it back before it ends: nobody else ever finds a row.
CREATE TABLE audit_events_removal (
    removable_before INTEGER NOT NULL CONSTRAINT audit_events_removal_pkey PRIMARY KEY
) STRICT;

DROP TRIGGER audit_events_not_deleted;
CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
WHEN NOT EXISTS (SELECT 1 FROM audit_events_removal WHERE OLD.occurred_at < removable_before)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: DELETE is refused');
END;
