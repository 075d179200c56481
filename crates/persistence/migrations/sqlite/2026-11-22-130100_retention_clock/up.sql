-- Kind: additive

-- How late it was when the clock was believed the last time, before anything was removed by it; before the first look, when
-- the tables were made. Else the first look would ask nobody but the clock in question.
CREATE TABLE retention_clock (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT retention_clock_pkey PRIMARY KEY
        CONSTRAINT retention_clock_only_row_check CHECK (only_row = 1),
    believed_at INTEGER NOT NULL
) STRICT;
INSERT INTO retention_clock VALUES (1, unixepoch('now') * 1000);

-- Whatever a transaction says: events of the last 30 days by the clock of this machine stay.
DROP TRIGGER audit_events_not_deleted;
CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
WHEN OLD.occurred_at >= (unixepoch('now') - 30 * 86400) * 1000
    OR NOT EXISTS (SELECT 1 FROM audit_events_removal WHERE OLD.occurred_at < removable_before)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only: DELETE is refused');
END;
