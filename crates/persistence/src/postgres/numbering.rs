//! The numbers of changes of access, given with the COMMIT of the transaction that makes them.

use std::fmt::Write;

use keyward_domain::access_changes::{Concern, LOGGED_CHANGES};

use crate::concern;

/// The statements that end a transaction, sent as one text: they cost no round trip of their own, and if the
/// first fails, the server does not look at the rest. The notification wakes the replicas, which otherwise
/// poll at intervals.
pub(super) fn commit_statements(concerns: &[Concern]) -> String {
    if concerns.is_empty() {
        return "COMMIT".to_owned();
    }
    let mut rows = String::new();
    for (back, concerned) in concerns.iter().rev().enumerate() {
        let (kind, id) = concern::to_columns(*concerned);
        let comma = if back == 0 { "" } else { ", " };
        let id = id.map_or("NULL".to_owned(), |id| format!("'{id}'"));
        // Writing to a string does not fail.
        let _ = write!(rows, "{comma}({back}, '{kind}', {id}::uuid)");
    }
    format!(
        "WITH raised AS (UPDATE access_counter SET number = number + {count} RETURNING number), \
         forgotten AS (DELETE FROM access_changes USING raised WHERE access_changes.number <= raised.number - {LOGGED_CHANGES}) \
         INSERT INTO access_changes (number, concerns_kind, concerns_id) \
         SELECT raised.number - concerned.back, concerned.kind, concerned.id \
         FROM raised, (VALUES {rows}) AS concerned (back, kind, id); \
         NOTIFY keyward_access_changes; COMMIT",
        count = concerns.len(),
    )
}

pub(super) const LISTEN: &str = "LISTEN keyward_access_changes";
