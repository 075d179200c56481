-- Kind: additive

-- What happened to one user or session, in no organization: people see the refused attempts at their password. Few events
-- of the installation's log have an object.
CREATE INDEX audit_events_installation_subject_idx ON audit_events (subject_id, occurred_at, id)
    WHERE organization_id IS NULL AND subject_id IS NOT NULL;
CREATE INDEX audit_events_installation_object_idx ON audit_events (object_id, occurred_at, id)
    WHERE organization_id IS NULL AND object_id IS NOT NULL;
