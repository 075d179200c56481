//! The exported tables.

use std::fmt::{self, Display, Formatter};

use keyward_domain::ports::StorageError;
use serde::{Deserialize, Serialize};

use super::records::*;

/// Passes a macro every table with its record, in an order that satisfies foreign keys.
macro_rules! with_tables {
    ($use:ident) => {
        $use! {
            organizations: Organization,
            users: User,
            memberships: Membership,
            invitations: Invitation,
            projects: Project,
            project_members: ProjectMember,
            api_keys: ApiKey,
            audit_events: AuditEvent,
            sessions: Session,
            sign_in_throttle: Throttle,
            installation: Installation,
        }
    };
}
pub(crate) use with_tables;

macro_rules! define {
    ($($table:ident: $Record:ident,)*) => {
        /// A row of any table. In the export: an object with one member, named after the table.
        #[derive(Debug, Serialize, Deserialize)]
        #[expect(non_camel_case_types, reason = "named as the tables are")]
        pub(crate) enum Row {
            $($table($Record),)*
        }

        impl Row {
            /// Whether the domain can read the row. If not, the error is [`StorageError::Corrupt`].
            pub(super) fn check(&self) -> Result<(), StorageError> {
                match self {
                    $(Self::$table(row) => row.check(),)*
                }
            }
        }

        /// The names of the tables.
        pub(crate) const TABLES: &[&str] = &[$(stringify!($table)),*];

        /// The number of rows of each table.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Counts {
            $(#[doc = concat!("The rows of `", stringify!($table), "`.")] pub $table: u64,)*
        }

        impl Counts {
            pub(crate) fn add(&mut self, row: &Row) {
                match row {
                    $(Row::$table(_) => self.$table += 1,)*
                }
            }

            fn by_table(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($table), self.$table)),*].into_iter()
            }
        }
    };
}

with_tables!(define);

/// `organizations 1, users 2, …`.
impl Display for Counts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, (table, rows)) in self.by_table().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{table} {rows}")?;
        }
        Ok(())
    }
}
