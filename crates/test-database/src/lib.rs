//! Gives each test a fresh PostgreSQL database cloned from a migrated template.
