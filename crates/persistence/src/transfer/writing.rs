//! Writing an export.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use sha2::Digest;
use tokio::sync::mpsc::Receiver;

use super::format::{Before, FirstLine, LastLine};
use super::tables::{Counts, Row};

const BUFFER: usize = 64 * 1024;

/// An export whose last line is not written yet.
pub(super) struct Unfinished<W: Write> {
    output: BufWriter<W>,
    line: Vec<u8>,
    before: Before,
}

impl<W: Write> Unfinished<W> {
    pub(super) fn write(output: W, first_line: &FirstLine, mut rows: Receiver<Vec<Row>>) -> io::Result<Self> {
        let mut export = Self {
            output: BufWriter::with_capacity(BUFFER, output),
            line: Vec::new(),
            before: Before::default(),
        };
        export.write_line(first_line)?;
        while let Some(batch) = rows.blocking_recv() {
            for row in &batch {
                export.write_line(row)?;
                export.before.rows.add(row);
            }
        }
        Ok(export)
    }

    /// Writes the last line and flushes.
    pub(super) fn finish(mut self) -> io::Result<Counts> {
        let last_line = LastLine::of(&self.before);
        self.write_line(&last_line)?;
        self.output.flush()?;
        Ok(self.before.rows)
    }

    fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.before.digest.update(&self.line);
        self.output.write_all(&self.line)
    }
}
