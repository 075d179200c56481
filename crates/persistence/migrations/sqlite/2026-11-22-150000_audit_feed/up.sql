-- Kind: additive

-- The audit log in the order of commits, for whoever passes it on. The version before this one goes on beside it: the
-- database numbers its events.

-- Which log the numbers are of, and up to which number events were removed for their age.
CREATE TABLE audit_feed (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT audit_feed_pkey PRIMARY KEY
        CONSTRAINT audit_feed_only_row_check CHECK (only_row = 1),
    log_id TEXT NOT NULL
        CONSTRAINT audit_feed_log_id_check CHECK (length(log_id) = 8 AND log_id NOT GLOB '*[^0-9a-f]*'),
    removed_through INTEGER NOT NULL
) STRICT;

INSERT INTO audit_feed (only_row, log_id, removed_through) VALUES (1, lower(hex(randomblob(4))), 0);

-- Changes come one after the other, so events get their numbers in the order in which they are committed.
CREATE TABLE audit_positions (
    position INTEGER NOT NULL
        CONSTRAINT audit_positions_pkey PRIMARY KEY,
    event_id BLOB NOT NULL
        CONSTRAINT audit_positions_event_id_key UNIQUE
        CONSTRAINT audit_positions_event_id_check CHECK (length(event_id) = 16)
) STRICT;

-- Events from before are numbered by their moment.
INSERT INTO audit_positions (position, event_id)
    SELECT row_number() OVER (ORDER BY occurred_at, id), id FROM audit_events ORDER BY occurred_at, id;

-- No number is used again: a number that was removed is no higher than `removed_through`.
CREATE TRIGGER audit_events_numbered AFTER INSERT ON audit_events
BEGIN
    INSERT INTO audit_positions (position, event_id)
        SELECT 1 + max(removed_through, coalesce((SELECT max(position) FROM audit_positions), 0)), NEW.id
        FROM audit_feed;
END;

CREATE TRIGGER audit_events_removed AFTER DELETE ON audit_events
BEGIN
    UPDATE audit_feed
        SET removed_through = max(
            removed_through, coalesce((SELECT position FROM audit_positions WHERE event_id = OLD.id), 0));
    DELETE FROM audit_positions WHERE event_id = OLD.id;
END;

-- A number stays with its event, as long as that is there.
CREATE TRIGGER audit_positions_not_updated BEFORE UPDATE ON audit_positions
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: UPDATE is refused');
END;

CREATE TRIGGER audit_positions_not_deleted BEFORE DELETE ON audit_positions
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = OLD.event_id)
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: DELETE is refused');
END;

-- INSERT OR REPLACE deletes what is in its way without asking the trigger above.
CREATE TRIGGER audit_positions_not_replaced BEFORE INSERT ON audit_positions
WHEN EXISTS (SELECT 1 FROM audit_positions WHERE position = NEW.position OR event_id = NEW.event_id)
BEGIN
    SELECT RAISE(ABORT, 'audit_positions is append-only: REPLACE is refused');
END;
