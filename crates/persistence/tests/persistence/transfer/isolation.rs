//! Other connections that use a database during an import.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, Sender, channel};

use keyward_persistence::transfer;
use tokio::task::spawn_blocking;

use crate::database::Database;
use crate::transfer::everything::everything;

/// Returns everything but the last line, reports that, and waits before it returns the last line.
struct Held {
    lines: Cursor<String>,
    last_line: Cursor<String>,
    at_last_line: Option<Sender<()>>,
    go_on: Receiver<()>,
}

impl Read for Held {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.lines.read(buffer)?;
        if count > 0 {
            return Ok(count);
        }
        if let Some(at_last_line) = self.at_last_line.take() {
            at_last_line.send(()).expect("the test waits");
            // An error if the test has ended: the export is cut off then.
            self.go_on.recv().map_err(io::Error::other)?;
        }
        self.last_line.read(buffer)
    }
}

/// Runs `meanwhile` after all rows were read and before the import commits. Returns whether the import
/// succeeded.
async fn import_and_meanwhile(database: &Database, meanwhile: impl AsyncFnOnce(), last_line: bool) -> bool {
    let everything = everything().await;
    let end = everything.find("{\"end\"").expect("a last line");
    let (lines, end) = everything.split_at(end);
    let (at_last_line, waits) = channel();
    let (let_go_on, go_on) = channel();
    let held = Held {
        lines: Cursor::new(lines.to_owned()),
        last_line: Cursor::new(if last_line { end.to_owned() } else { String::new() }),
        at_last_line: Some(at_last_line),
        go_on,
    };
    let meanwhile = async {
        spawn_blocking(move || waits.recv())
            .await
            .expect("no panic")
            .expect("the last line");
        meanwhile().await;
        let_go_on.send(()).expect("the import waits");
    };
    let (imported, ()) = tokio::join!(transfer::import(&*database.store, held, |_| true), meanwhile);
    imported.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn import_is_invisible_until_complete() {
    for database in Database::both().await {
        let before = database.export().await;
        let see_nothing = async || assert!(database.export().await == before);
        assert!(!import_and_meanwhile(&database, see_nothing, false).await);
        assert!(database.export().await == before);
        assert!(import_and_meanwhile(&database, see_nothing, true).await);
        assert!(database.export().await == everything().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn database_rejects_changes_during_import() {
    for database in Database::both().await {
        let change_nothing = async || {
            let change = "DELETE FROM sign_in_throttle";
            let (change, refusal) = if database.is_postgres() {
                (format!("SET lock_timeout = 50; {change}"), "lock timeout")
            } else {
                (change.to_owned(), "locked")
            };
            let refused = database.try_execute(&change).await.expect_err("a lock");
            assert!(refused.contains(refusal), "{refused}");
        };
        assert!(import_and_meanwhile(&database, change_nothing, true).await);
        assert!(database.export().await == everything().await);
    }
}
