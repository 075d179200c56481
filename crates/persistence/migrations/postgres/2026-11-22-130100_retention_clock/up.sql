-- Kind: additive

-- How late it was when the clock was believed the last time, before anything was removed by it; before the first look, when
-- the tables were made. Else the first look would ask nobody but the clock in question.
CREATE TABLE retention_clock (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT retention_clock_pkey PRIMARY KEY
        CONSTRAINT retention_clock_only_row_check CHECK (only_row),
    believed_at timestamptz NOT NULL
);
INSERT INTO retention_clock VALUES (true, clock_timestamp());

-- Whatever a transaction says: events of the last 30 days by the clock of this server stay.
DROP TRIGGER audit_events_kept ON audit_events;
CREATE TRIGGER audit_events_kept BEFORE DELETE ON audit_events
    FOR EACH ROW
    WHEN (OLD.occurred_at >= least(
        coalesce(
            nullif(current_setting('keyward.audit_events_removable_before', true), '')::timestamptz, '-infinity'),
        now() - interval '30 days'))
    EXECUTE FUNCTION refuse_to_change_audit_events();
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_kept;
