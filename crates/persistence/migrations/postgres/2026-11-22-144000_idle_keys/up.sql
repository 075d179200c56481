-- Kind: additive

-- How long keys have been idle. The version before this one goes on beside it: the database keeps the column, whoever
-- writes. Nobody reads or writes keys while this runs, which takes milliseconds: no row is touched.

-- The day (UTC, counted from 1970) on which the key was last used or, if it never was, created. A day and no moment, so
-- that the index on it changes once a day for each key and not with every use that is noted. 0 for keys from before:
-- bringing the database up to date fills it in for the valid ones, part by part. Whoever asks looks at the moments
-- themselves, too.
ALTER TABLE api_keys ADD COLUMN idle_since_day integer NOT NULL DEFAULT 0;

CREATE FUNCTION api_keys_idle_since_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.idle_since_day := floor(extract(epoch FROM coalesce(NEW.last_used_at, NEW.created_at)) / 86400);
    RETURN NEW;
END;
$$;
CREATE TRIGGER api_keys_idle_since_day_of_new BEFORE INSERT ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_keys_idle_since_day();
CREATE TRIGGER api_keys_idle_since_day BEFORE UPDATE OF last_used_at ON api_keys
    FOR EACH ROW WHEN (floor(extract(epoch FROM NEW.last_used_at) / 86400) <> OLD.idle_since_day)
    EXECUTE FUNCTION api_keys_idle_since_day();
