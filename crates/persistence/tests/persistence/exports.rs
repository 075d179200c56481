//! Exports of a database, and imports into another.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use keyward_persistence::transfer::{self, Counts, ExportError, ImportError, Transfer};

use crate::database::Database;

impl Database {
    /// The text of a whole export.
    pub(crate) async fn export(&self) -> String {
        let output = Output::default();
        self.export_to(output.clone()).await.expect("an export");
        String::from_utf8(output.bytes()).expect("UTF-8")
    }

    pub(crate) async fn export_to(&self, output: impl Write + Send + 'static) -> Result<Counts, ExportError> {
        transfer::export(&*self.store as &dyn Transfer, output).await
    }

    pub(crate) async fn import(&self, export: impl Into<Vec<u8>>) -> Result<Counts, ImportError> {
        let export = io::Cursor::new(export.into());
        transfer::import(&*self.store as &dyn Transfer, export, |hash| {
            !hash.contains("m=4294967295,")
        })
        .await
    }

    /// Every row of every table, one a line.
    pub(crate) async fn rows(&self) -> Vec<String> {
        let export = self.export().await;
        // The last line counts the others.
        let (rows, _) = export.rsplit_once("{\"end\":").expect("a last line");
        rows.lines().map(str::to_owned).collect()
    }
}

/// A buffer that keeps the written bytes.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
