//! The lines of an export: the first one, the rows, the last one.
//!
//! ```json
//! {"keyward_export":{"format":1,"schema":"20261127000000"}}
//! {"organizations":{"id":"…","slug":"acme",…}}
//! {"end":{"rows":{"organizations":1,…},"sha256":"…"}}
//! ```

use std::error::Error;

use diesel::sqlite::Sqlite;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::columns::Bytes;
use super::error::InvalidExport;
use super::tables::Counts;
use crate::known_migrations::KnownMigrations;

/// The version of the syntax of lines and values.
const FORMAT: u32 = 1;
/// The beginning of the last line, with which no row begins.
pub(super) const LAST_LINE: &[u8] = br#"{"end":"#;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FirstLine {
    keyward_export: Version,
}

/// The version of the export, which must equal the importer's.
#[derive(Debug, Serialize, Deserialize)]
struct Version {
    format: u32,
    /// The newest migration, which identifies the schema in both databases.
    schema: String,
    /// The first released migration: older exports cannot be read.
    #[serde(skip)]
    oldest: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LastLine {
    end: End,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    rows: Counts,
    /// SHA-256 (FIPS 180-4) of all previous lines, including their line feeds.
    sha256: Bytes,
}

impl FirstLine {
    pub(super) fn of_this_version() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let known = KnownMigrations::sqlite();
        Ok(Self {
            keyward_export: Version {
                format: FORMAT,
                schema: known.newest::<Sqlite>()?,
                oldest: known.versions::<Sqlite>()?.pop_first().unwrap_or_default(),
            },
        })
    }

    pub(super) fn check(&self, here: &Self) -> Result<(), InvalidExport> {
        let (
            Version {
                format,
                schema,
                oldest: _,
            },
            here,
        ) = (&self.keyward_export, &here.keyward_export);
        if (format, schema) == (&here.format, &here.schema) {
            Ok(())
        } else if *format == here.format && *schema < here.oldest {
            Err(InvalidExport::TooOld)
        } else if *format > here.format || (*format == here.format && *schema > here.schema) {
            Err(InvalidExport::Newer)
        } else {
            Err(InvalidExport::Older)
        }
    }
}

impl LastLine {
    pub(super) fn of(before: &Before) -> Self {
        Self {
            end: End {
                rows: before.rows,
                sha256: Bytes(before.digest.clone().finalize().to_vec()),
            },
        }
    }

    /// Whether the counts and the checksum match. An export always has the one installation row.
    pub(super) fn fits(&self, before: &Before) -> bool {
        self.end == Self::of(before).end && before.rows.installation == 1
    }
}

/// Row counts and checksum of the lines before the last.
#[derive(Default)]
pub(super) struct Before {
    pub(super) rows: Counts,
    pub(super) digest: Sha256,
}
