DROP INDEX invitations_creation_nonce_key;
ALTER TABLE invitations DROP COLUMN creation_nonce;
