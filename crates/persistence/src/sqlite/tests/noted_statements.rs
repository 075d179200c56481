//! Records the statements of a store as SQLite gets them.

use std::sync::{Arc, Mutex};

use diesel::connection::{Connection, InstrumentationEvent};

use crate::sqlite::SqliteStore;

/// The statements that the store runs from now on.
pub(in crate::sqlite) async fn noted(store: &SqliteStore) -> Arc<Mutex<Vec<String>>> {
    let statements = Arc::new(Mutex::new(Vec::new()));
    let note = || {
        let statements = Arc::clone(&statements);
        move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::StartQuery { query, .. } = event {
                statements.lock().unwrap().push(query.to_string());
            }
        }
    };
    assert!(store.is_ready().await.unwrap());
    for reader in store.readers.idle().iter_mut() {
        reader.connection.set_instrumentation(note());
    }
    let mut writer = store.writer.lock().await;
    writer.as_mut().unwrap().set_instrumentation(note());
    statements
}
