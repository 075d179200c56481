-- Kind: additive

-- Which versions of Keyward can work with these tables, for versions that do not know the newest migrations: all that
-- know the migration `minimum_reader`. A breaking migration sets it to its own version; an additive one leaves it.
CREATE TABLE schema_compatibility (
    -- There is one row: this column can hold one value.
    only_row boolean NOT NULL
        CONSTRAINT schema_compatibility_pkey PRIMARY KEY
        CONSTRAINT schema_compatibility_only_row_check CHECK (only_row),
    minimum_reader text NOT NULL
        CONSTRAINT schema_compatibility_minimum_reader_check CHECK (minimum_reader ~ '^[0-9]{14}$')
);

INSERT INTO schema_compatibility (only_row, minimum_reader) VALUES (true, '20261122130000');
