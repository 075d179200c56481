//! Stores Keyward's keys, people and audit events in PostgreSQL.
