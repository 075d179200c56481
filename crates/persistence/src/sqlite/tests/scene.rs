//! A store with something in it.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::SqliteConnection;
use keyward_domain::ports::StorageError;
use tempfile::TempDir;

use crate::abort::Abort;
use crate::sqlite::{SqliteConfig, SqliteStore};

/// One of everything, and a key below a key.
const SCENE: &str = "
    INSERT INTO organizations (id, slug, name, created_at) VALUES (zeroblob(16), 'acme', 'Acme', 0);
    INSERT INTO users (id, username, display_name, password_hash, created_at, search_text)
        VALUES (zeroblob(16), 'ada', 'Ada', '', 0, 'ada');
    INSERT INTO memberships (id, organization_id, user_id, role, joined_at)
        VALUES (zeroblob(16), zeroblob(16), zeroblob(16), 'owner', 0);
    INSERT INTO api_keys (id, consumer_id, digest, hint, name, description, search_text, created_by_user_id,
        created_by_key_id, created_at) VALUES
        (zeroblob(16), zeroblob(16), zeroblob(32), 'kwp_…aaaa', 'Deploy', '', 'deploy', zeroblob(16), NULL, 0),
        (randomblob(16), zeroblob(16), randomblob(32), 'kwp_…bbbb', 'Deploy', '', 'deploy', NULL, zeroblob(16), 0);
    INSERT INTO projects (id, organization_id, name, search_text, created_at)
        VALUES (zeroblob(16), zeroblob(16), 'Notes', 'notes', 0);
    INSERT INTO audit_events (id, occurred_at, organization_id, actor_kind, action, subject_kind, outcome)
        VALUES (zeroblob(16), 0, zeroblob(16), 'administrator', 'user.create', 'installation', 'success');";

/// A store with that in it.
pub(in crate::sqlite) async fn scene(directory: &TempDir) -> SqliteStore {
    let mut config = SqliteConfig::in_directory(directory.path());
    // Waits for a busy machine rather than fail.
    config.answer_timeout = Duration::from_secs(40);
    config.outcome_timeout = Duration::from_secs(50);
    let store = SqliteStore::open(config).unwrap();
    store.migrate().await.unwrap();
    let made = store.change_blocking(|connection: &mut SqliteConnection| {
        Ok::<_, Abort<StorageError>>(connection.batch_execute(SCENE)?)
    });
    made.await.unwrap();
    store
}
