-- Kind: additive

-- The form that made an invitation, which makes no second one. Absent for invitations that no form made, and for those of
-- the version before this one.
ALTER TABLE invitations ADD COLUMN creation_nonce bytea
    CONSTRAINT invitations_creation_nonce_check CHECK (octet_length(creation_nonce) = 16);
CREATE UNIQUE INDEX invitations_creation_nonce_key ON invitations (organization_id, creation_nonce)
    WHERE creation_nonce IS NOT NULL;
