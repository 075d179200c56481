//! An export is how everything was at one moment.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use keyward_domain::failure_sentence::sentence;
use keyward_domain::ports::StorageError;
use keyward_persistence::transfer::ExportError;
use tokio::task::spawn_blocking;

use crate::database::Database;
use crate::exports::Output;
use crate::transfer::everything::{everything, id};

/// Reports the first write, and accepts it only after a signal.
struct Held {
    came: Option<Sender<()>>,
    go_on: Receiver<()>,
    output: Output,
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(came) = self.came.take() {
            came.send(()).expect("the test waits");
            self.go_on.recv().expect("the test lets go on");
        }
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn export_excludes_changes_made_meanwhile() {
    let everything = everything().await;
    for database in Database::both().await {
        database.import(everything.clone()).await.expect("an import");
        let (came, comes) = channel();
        let (let_go_on, go_on) = channel();
        let output = Output::default();
        let held = Held {
            came: Some(came),
            go_on,
            output: output.clone(),
        };
        let meanwhile = async {
            spawn_blocking(move || comes.recv())
                .await
                .expect("no panic")
                .expect("the first bytes");
            // Sessions are read after the audit events, which do not fit into what may wait.
            database.execute("DELETE FROM sessions").await;
            database.execute("DELETE FROM sign_in_throttle").await;
            let_go_on.send(()).expect("the export waits");
        };
        let (counts, ()) = tokio::join!(database.export_to(held), meanwhile);
        assert_eq!(counts.expect("an export").sessions, 1);
        assert!(output.bytes() == everything.as_bytes());
        assert!(!database.export().await.contains(&id(9)), "the session is gone");
    }
}

/// Takes a little, and then nothing more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn failing_output_stops_the_export() {
    let everything = everything().await;
    for database in Database::both().await {
        database.import(everything.clone()).await.expect("an import");
        for room in [0, 100_000, everything.len() - 1] {
            let error = database.export_to(Full(room)).await.expect_err("no room");
            assert_eq!(error.to_string(), "the export cannot be written");
        }
        assert!(database.export().await == everything);
    }
}

#[tokio::test]
async fn non_utf8_text_is_reported_and_never_repaired() {
    let database = Database::sqlite().await;
    database.import(everything().await).await.expect("an import");
    database
        .execute("UPDATE users SET display_name = CAST(x'41ff42' AS TEXT)")
        .await;
    let output = Output::default();
    let error = database.export_to(output.clone()).await.expect_err("no text");
    let ExportError::Storage(StorageError::Defect(row)) = error else {
        panic!("{error:?}");
    };
    let words = sentence(&*row);
    assert!(words.starts_with("a row of users cannot be read: "), "{words}");
    assert!(words.contains("'display_name'"), "{words}");
    assert!(words.ends_with("a text that is not UTF-8"), "{words}");
    assert!(!String::from_utf8_lossy(&output.bytes()).contains("\"end\""));
}
