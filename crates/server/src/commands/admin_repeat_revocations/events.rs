//! The audit log on standard input.

use std::collections::HashSet;
use std::io::{BufRead, Read};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use keyward_audit_export::json_lines::{MAX_LINE_BYTES, read_event};
use keyward_domain::access_removals::AccessRemovals;
use keyward_domain::audit::{AuditEvent, Subject};
use keyward_domain::id::OrganizationId;

use crate::commands::Failure;
use crate::output;
use crate::standard_input::StandardInputError;

/// The time of an event is taken before its commit, and servers' clocks differ: a change that a backup lacks
/// may have a time before it. Changes that the backup already has are not repeated.
const MARGIN: TimeDelta = TimeDelta::hours(1);

#[derive(Default)]
pub(super) struct Log {
    pub(super) removals: AccessRemovals,
    /// All that the log names, also in events that do not count.
    pub(super) organizations: HashSet<OrganizationId>,
    /// It is of the installation and all organizations, as far as one can see.
    is_of_all: bool,
}

impl Log {
    /// Whether the log would have this event if it had been written before the log's end.
    pub(super) fn has_place_for(&self, event: &AuditEvent) -> bool {
        let of_organization = event.organization_id;
        self.is_of_all || of_organization.is_some_and(|id| self.organizations.contains(&id))
    }
}

/// Reads all lines, and reports how many of them count.
pub(super) fn read(mut input: impl BufRead, since: Option<DateTime<Utc>>) -> Result<Log, Failure> {
    let since = since.map(|since| since - MARGIN);
    let mut log = Log::default();
    let (mut lines, mut considered) = (0, 0);
    let (mut has_installation, mut has_organizations, mut names_organizations) = (false, false, false);
    let mut line = Vec::new();
    loop {
        line.clear();
        // With its end, or enough to see that it is too long.
        let mut at_most = input.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        let read = at_most.read_until(b'\n', &mut line);
        if read.map_err(StandardInputError::Unreadable)? == 0 {
            break;
        }
        lines += 1;
        let event = read_event(line.strip_suffix(b"\n").unwrap_or(&line));
        let event = event.map_err(|source| Failure::NotAnEvent { line: lines, source })?;
        let is_of_organization = is_of_organization(&event);
        has_organizations |= is_of_organization;
        has_installation |= !is_of_organization;
        names_organizations |= event.organization_id.is_some();
        log.organizations.extend(event.organization_id);
        if let Subject::Organization(organization) = event.subject {
            log.organizations.insert(organization);
        }
        if since.is_none_or(|since| event.at >= since) {
            considered += 1;
            log.removals.add(&event);
        }
    }
    // The command that should have printed the log may have failed.
    if lines == 0 {
        return Err(Failure::NoEvents);
    }
    if !has_organizations {
        return Err(Failure::AuditLogOfInstallation);
    }
    let since = since.map_or_else(String::new, |since| {
        let since = since.to_rfc3339_opts(SecondsFormat::Secs, true);
        format!(" since {since}, an hour before --since")
    });
    if considered == 0 {
        return Err(Failure::NoEventsSince(since));
    }
    // A log of one organization has its sign-ins, which look like those of the installation.
    log.is_of_all = has_installation && names_organizations;
    output::report(&format!("Events considered: {considered} of {lines}{since}"));
    Ok(log)
}

/// Lines of `admin audit-log --organization` do not name it.
const fn is_of_organization(event: &AuditEvent) -> bool {
    event.organization_id.is_some()
        || !matches!(
            event.subject,
            Subject::Installation | Subject::User(_) | Subject::Session(_)
        )
}
