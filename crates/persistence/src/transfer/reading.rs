//! Reading an export.

use std::io::{BufRead, BufReader, Read};

use serde::de::DeserializeOwned;
use sha2::Digest;
use tokio::sync::mpsc::Sender;

use super::error::InvalidExport;
use super::format::{Before, FirstLine, LAST_LINE, LastLine};
use super::rows::{BATCH, Batch, ImportItem, ReadItem};
use super::tables::Row;

/// Far more than the longest row. A whole line is held in memory.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// Reads an export until its end, an error, or the receiver is dropped.
pub(super) fn read_all(
    input: impl Read,
    of_this_version: &FirstLine,
    is_affordable: fn(&str) -> bool,
    rows: &Sender<ReadItem>,
) {
    let mut export = ExportReader {
        input: BufReader::new(input),
        number: 0,
        line: Vec::new(),
        is_last_line: false,
        is_affordable,
        before: Before::default(),
    };
    let mut arrival = export.first_line(of_this_version).and_then(|()| export.next());
    loop {
        let goes_on = matches!(arrival, Ok(ImportItem::Rows(_)));
        if rows.blocking_send(arrival).is_err() || !goes_on {
            return;
        }
        arrival = export.next();
    }
}

struct ExportReader<R> {
    input: BufReader<R>,
    /// The number of the last line read, counted from 1.
    number: u64,
    /// The last line read, with its line feed.
    line: Vec<u8>,
    is_last_line: bool,
    /// Whether verifying a password against this hash costs no more than against Keyward's own.
    is_affordable: fn(&str) -> bool,
    /// Row counts and checksum of the lines read so far.
    before: Before,
}

impl<R: Read> ExportReader<R> {
    fn first_line(&mut self, of_this_version: &FirstLine) -> Result<(), InvalidExport> {
        let first_line = match self.read_line() {
            Ok(()) => self.parse::<FirstLine>(),
            Err(error) => Err(error),
        };
        match first_line {
            Ok(first_line) => first_line.check(of_this_version)?,
            Err(error @ InvalidExport::Unreadable(_)) => return Err(error),
            Err(_) => return Err(InvalidExport::NotAnExport),
        }
        self.before.digest.update(&self.line);
        Ok(())
    }

    fn next(&mut self) -> Result<ImportItem, InvalidExport> {
        let mut batch = Batch {
            first_line: self.number + 1,
            rows: Vec::new(),
        };
        while batch.rows.len() < BATCH && !self.is_last_line {
            self.read_line()?;
            if self.line.starts_with(LAST_LINE) {
                self.is_last_line = true;
            } else {
                let row: Row = self.parse()?;
                self.check(&row)?;
                self.before.rows.add(&row);
                self.before.digest.update(&self.line);
                batch.rows.push(row);
            }
        }
        if batch.rows.is_empty() {
            self.end()
        } else {
            Ok(ImportItem::Rows(batch))
        }
    }

    fn check(&self, row: &Row) -> Result<(), InvalidExport> {
        let line = self.number;
        if let Row::users(user) = row
            && !(self.is_affordable)(user.password_hash())
        {
            let user = user.id();
            return Err(InvalidExport::ExcessiveHash { line, user });
        }
        row.check()
            .map_err(|problem| InvalidExport::UnreadableRow { line, problem })
    }

    fn end(&mut self) -> Result<ImportItem, InvalidExport> {
        let last_line: LastLine = self.parse()?;
        if !last_line.fits(&self.before) {
            return Err(InvalidExport::Altered { line: self.number });
        }
        match self.input.fill_buf() {
            Ok([]) => Ok(ImportItem::End(self.before.rows)),
            Ok(_) => Err(InvalidExport::Continued {
                line: self.number + 1,
            }),
            Err(error) => Err(InvalidExport::Unreadable(error)),
        }
    }

    fn read_line(&mut self) -> Result<(), InvalidExport> {
        self.line.clear();
        self.number += 1;
        self.input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut self.line)
            .map_err(InvalidExport::Unreadable)?;
        let line = self.number;
        if self.line.ends_with(b"\n") {
            Ok(())
        } else if self.line.len() as u64 == MAX_LINE_BYTES {
            Err(InvalidExport::LongLine { line })
        } else {
            Err(InvalidExport::CutOff { line })
        }
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, InvalidExport> {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        // serde's message may contain the value, which may be a secret.
        serde_json::from_slice(line).map_err(|error| InvalidExport::Garbled {
            line: self.number,
            column: error.column(),
        })
    }
}
