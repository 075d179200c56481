//! Validates imported rows with the domain's parsers: an import refuses what the domain could not read back.
//!
//! The parser of each column is in `records.rs`, rules across columns are in `cross_column.rs`. The database
//! checks references to other rows.

use std::fmt::Display;

use chrono::{DateTime, Datelike, Utc};
use keyward_domain::api_key::{InvalidLongestLife, LongestLife};
use keyward_domain::ports::StorageError;
use keyward_domain::sign_in::remembered_browser::BrowserKey;
use uuid::Uuid;

use crate::columns::StoredNumber as Number;
use crate::columns::{StoredFlag, StoredId};
use crate::stored_row::StoredRow;
use crate::transfer::columns::{Bytes, Moment, TextValue};

pub(super) type Row = StoredRow<String>;

/// A column's value, to be parsed.
pub(super) trait Column {
    type Content: ?Sized;

    /// The value; `None` if the column is null.
    fn content(&self) -> Option<&Self::Content>;

    /// A problem with the value that does not depend on its meaning.
    fn problem(&self) -> Option<&'static str> {
        None
    }
}

/// A column whose value needs no parsing.
pub(super) trait Verbatim: Column {}

macro_rules! column {
    ($Column:ty: $Content:ty $(, $read_as_it_is:ident)?) => {
        impl Column for $Column {
            type Content = $Content;

            fn content(&self) -> Option<&$Content> {
                Some(&self.0)
            }
        }

        $(impl $read_as_it_is for $Column {})?
    };
}

column!(StoredId: Uuid, Verbatim);
column!(StoredFlag: bool, Verbatim);
column!(Number: i32, Verbatim);
column!(Bytes: [u8]);
column!(TextValue: str);

impl Column for Moment {
    type Content = DateTime<Utc>;

    fn content(&self) -> Option<&DateTime<Utc>> {
        Some(&self.0)
    }

    /// Years must have four digits, as RFC 3339 requires for responses; then periods can also be added
    /// without overflow.
    fn problem(&self) -> Option<&'static str> {
        let is_written = (0..=9999).contains(&self.0.year());
        (!is_written).then_some("not in the years 0 to 9999")
    }
}

impl Verbatim for Moment {}

impl<C: Column> Column for Option<C> {
    type Content = C::Content;

    fn content(&self) -> Option<&C::Content> {
        self.as_ref()?.content()
    }

    fn problem(&self) -> Option<&'static str> {
        self.as_ref()?.problem()
    }
}

impl<C: Verbatim> Verbatim for Option<C> {}

/// The first primary-key column of a table.
pub(super) trait Key {
    /// The row's name in error messages.
    fn name_of_row(&self) -> String;
}

impl Key for StoredId {
    fn name_of_row(&self) -> String {
        self.to_string()
    }
}

impl Key for Bytes {
    fn name_of_row(&self) -> String {
        "that line".to_owned()
    }
}

impl Key for StoredFlag {
    fn name_of_row(&self) -> String {
        "the only row".to_owned()
    }
}

/// The result of a parser.
pub(super) trait ParseResult {
    fn problem(self) -> Option<String>;
}

impl<T, E: Display> ParseResult for Result<T, E> {
    fn problem(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// `None` means an unknown word.
impl<T> ParseResult for Option<T> {
    fn problem(self) -> Option<String> {
        self.is_none().then(|| "an unknown word".to_owned())
    }
}

/// Checks a column with a parser.
pub(super) fn read<C: Column, R: ParseResult>(
    row: &Row,
    column: &'static str,
    value: &C,
    read: impl FnOnce(&C::Content) -> R,
) -> Result<(), StorageError> {
    let problem = value.problem().map(str::to_owned);
    match problem.or_else(|| read(value.content()?).problem()) {
        Some(problem) => Err(row.corrupt(column, problem)),
        None => Ok(()),
    }
}

/// Checks a column that needs no parsing.
pub(super) fn verbatim<C: Verbatim>(row: &Row, column: &'static str, value: &C) -> Result<(), StorageError> {
    read(row, column, value, unchecked)
}

/// Accepts any value: the column needs no parsing, or a rule across columns checks it.
pub(super) const fn unchecked<T: ?Sized>(_: &T) -> Result<(), &'static str> {
    Ok(())
}

/// A SHA-256 digest, or other 32 bytes.
pub(super) fn digest(bytes: &[u8]) -> Result<(), String> {
    length(bytes, 32)
}

/// A form's idempotency key of 16 bytes.
pub(super) fn idempotency_key(bytes: &[u8]) -> Result<(), String> {
    length(bytes, 16)
}

pub(super) fn browser_key(bytes: &[u8]) -> Result<(), String> {
    length(bytes, BrowserKey::BYTES)
}

fn length(bytes: &[u8], expected: usize) -> Result<(), String> {
    let is_expected = bytes.len() == expected;
    is_expected
        .then_some(())
        .ok_or_else(|| format!("not {expected} bytes long"))
}

pub(super) fn depth(depth: &i32) -> Result<(), &'static str> {
    if depth.is_negative() {
        Err("below 0")
    } else {
        Ok(())
    }
}

/// A longest life of keys, in days.
pub(super) fn life(days: &i32) -> Result<LongestLife, InvalidLongestLife> {
    LongestLife::of_days((*days).into())
}
