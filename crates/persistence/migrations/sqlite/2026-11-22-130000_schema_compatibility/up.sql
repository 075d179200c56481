-- Kind: additive

-- Which versions of Keyward can work with these tables, for versions that do not know the newest migrations: all that
-- know the migration `minimum_reader`. A breaking migration sets it to its own version; an additive one leaves it.
CREATE TABLE schema_compatibility (
    -- There is one row: this column can hold one value.
    only_row INTEGER NOT NULL
        CONSTRAINT schema_compatibility_pkey PRIMARY KEY
        CONSTRAINT schema_compatibility_only_row_check CHECK (only_row = 1),
    minimum_reader TEXT NOT NULL
        CONSTRAINT schema_compatibility_minimum_reader_check
        CHECK (length(minimum_reader) = 14 AND minimum_reader NOT GLOB '*[^0-9]*')
) STRICT;

INSERT INTO schema_compatibility (only_row, minimum_reader) VALUES (1, '20261122130000');
