//! The state of a database's schema relative to this version of Keyward.

use std::collections::BTreeSet;

use diesel::QueryableByName;
use diesel::sql_types::Text;

/// The state of a database's schema relative to this version of Keyward.
///
/// Migrations are named by their versions, such as `20261127000000`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// The database has no tables of Keyward.
    Empty,
    /// Migrations that this version knows are missing.
    Outdated {
        /// The newest migration of the database.
        newest: String,
    },
    /// The schema has exactly the migrations of this version.
    Current,
    /// A newer version has extended the schema compatibly: this version can use it.
    NewerCompatible {
        /// The newest migration of the database.
        newest: String,
    },
    /// This version can neither use the schema nor migrate it.
    Unusable(UnusableSchema),
}

/// Why a version of Keyward can neither use a schema nor migrate it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableSchema {
    /// Its newest migration is older than the first one of this version.
    #[error(
        "the database is from before Keyward's first release (its newest migration is {newest}) and cannot be brought \
         up to date or exported by this version: remove it and set Keyward up anew"
    )]
    TooOld {
        /// The newest migration of the database.
        newest: String,
    },
    /// A newer version has made it, or migrated it so that versions before cannot use it.
    #[error(
        "the database has migration {newest}, which this version of Keyward does not know: start the newer version"
    )]
    Newer {
        /// The newest migration of the database.
        newest: String,
    },
}

/// The result of [`PostgresStore::migrate`](crate::postgres::PostgresStore::migrate) and
/// [`SqliteStore::migrate`](crate::sqlite::SqliteStore::migrate).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Migrated {
    /// The schema was up to date, or from a newer version that is compatible.
    Nothing,
    /// Created the schema in an empty database.
    Made {
        /// The newest migration of the created schema.
        to: String,
    },
    /// Migrated the schema.
    Upgraded {
        /// The newest migration before.
        from: String,
        /// The newest migration now.
        to: String,
    },
}

impl SchemaState {
    /// `minimum_reader` is the value in the table `schema_compatibility`, if that exists.
    pub(crate) fn of(
        known: &BTreeSet<String>,
        applied: &BTreeSet<String>,
        minimum_reader: Option<&str>,
    ) -> Self {
        let Some(newest) = applied.last().cloned() else {
            return Self::Empty;
        };
        if known.first().is_some_and(|oldest_known| newest < *oldest_known) {
            return Self::Unusable(UnusableSchema::TooOld { newest });
        }
        match (applied.is_subset(known), known.is_subset(applied)) {
            (true, true) => Self::Current,
            (true, false) => Self::Outdated { newest },
            (false, has_all_known) => {
                let is_read_by_this = minimum_reader.is_some_and(|minimum| known.contains(minimum));
                if has_all_known && is_read_by_this {
                    Self::NewerCompatible { newest }
                } else {
                    Self::Unusable(UnusableSchema::Newer { newest })
                }
            }
        }
    }

    /// Whether this version can read and write these tables.
    #[must_use]
    pub const fn is_usable(&self) -> bool {
        match self {
            Self::Current | Self::NewerCompatible { .. } => true,
            Self::Empty | Self::Outdated { .. } | Self::Unusable(_) => false,
        }
    }

    /// Whether this version has to migrate the schema first.
    pub(crate) fn needs_migration(&self) -> Result<bool, UnusableSchema> {
        match self {
            Self::Unusable(unusable) => Err(unusable.clone()),
            Self::Current | Self::NewerCompatible { .. } => Ok(false),
            Self::Empty | Self::Outdated { .. } => Ok(true),
        }
    }

    /// The result of migrating from this state to this version's newest migration.
    pub(crate) fn migrated_to(self, to: String) -> Migrated {
        match self {
            Self::Empty => Migrated::Made { to },
            Self::Outdated { newest: from } => Migrated::Upgraded { from, to },
            Self::Current | Self::NewerCompatible { .. } | Self::Unusable(_) => Migrated::Nothing,
        }
    }
}

#[derive(QueryableByName)]
pub(crate) struct AppliedMigration {
    #[diesel(sql_type = Text)]
    pub(crate) version: String,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn versions(versions: &[&str]) -> BTreeSet<String> {
        versions.iter().map(|&version| version.to_owned()).collect()
    }

    fn newest(newest: &str) -> String {
        newest.to_owned()
    }

    #[test]
    fn schema_state_distinguishes_older_newer_additive_and_breaking() {
        let known = versions(&["1", "2"]);
        let of = |applied: &[&str], minimum| SchemaState::of(&known, &versions(applied), minimum);
        assert_eq!(of(&[], None), SchemaState::Empty);
        assert_eq!(of(&["1"], None), SchemaState::Outdated { newest: newest("1") });
        assert_eq!(of(&["1", "2"], Some("2")), SchemaState::Current);
        let compatible = SchemaState::NewerCompatible { newest: newest("3") };
        assert_eq!(of(&["1", "2", "3"], Some("1")), compatible);
        assert_eq!(of(&["1", "2", "3"], Some("2")), compatible);
        let too_old = SchemaState::Unusable(UnusableSchema::TooOld { newest: newest("0") });
        assert_eq!(of(&["0"], None), too_old);
        assert_eq!(of(&["0"], Some("0")), too_old);
        let incompatible = SchemaState::Unusable(UnusableSchema::Newer { newest: newest("3") });
        assert_eq!(of(&["1", "2", "3"], Some("3")), incompatible);
        assert_eq!(of(&["1", "2", "3"], None), incompatible, "nothing vouches for it");
        assert_eq!(
            of(&["1", "3"], Some("1")),
            incompatible,
            "a migration that is known is missing"
        );
    }

    /// The first line of `up.sql` says it for people; `schema_compatibility` for the version before.
    #[test]
    fn every_migration_declares_whether_it_is_additive() {
        for database in ["postgres", "sqlite"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("migrations")
                .join(database);
            for migration in fs::read_dir(folder).unwrap() {
                let migration = migration.unwrap().path();
                let up = fs::read_to_string(migration.join("up.sql")).unwrap();
                let name = migration.file_name().unwrap().to_str().unwrap();
                let version: String = name.chars().filter(char::is_ascii_digit).take(14).collect();
                let update = format!("UPDATE schema_compatibility SET minimum_reader = '{version}';");
                match up.lines().next() {
                    Some("-- Kind: additive") => assert!(
                        !up.contains("UPDATE schema_compatibility"),
                        "{name} is additive, and shuts the version before out"
                    ),
                    Some("-- Kind: breaking") => assert!(up.contains(&update), "{name} lacks: {update}"),
                    other => panic!(
                        "{database}/{name} must begin with `-- Kind: additive` or `-- Kind: breaking`, not {other:?}: \
                         see CONTRIBUTING.md"
                    ),
                }
            }
        }
    }
}
