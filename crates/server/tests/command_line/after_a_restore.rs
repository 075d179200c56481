//! What the documentation tells people to look for after they restored an older backup.

use std::io::Write;
use std::process::{Command, Stdio};

use keyward_domain::audit::Action;

const DOCUMENTATION: &str = include_str!("../../../../docs/choosing-a-database.md");

/// Whether an action took something away that an older backup brings back.
const fn took_something_away(action: Action) -> bool {
    match action {
        Action::MakeMember
        | Action::RemoveMember
        | Action::LeaveOrganization
        | Action::RevokeInvitation
        | Action::AcceptInvitation
        | Action::ArchiveProject
        | Action::RemoveProjectMember
        | Action::ResetPassword
        | Action::ChangePassword
        | Action::SignOut
        | Action::EndSession
        | Action::RevokeApiKey
        | Action::ChangeExpiry
        | Action::ChangeMembershipExpiry
        | Action::RotateApiKey
        | Action::DisableKeyManagement
        | Action::LimitKeyLife => true,
        // A setup link works before there is anything to restore, and what went for its age or ended as
        // planned does so again by itself.
        Action::CreateSetupLink
        | Action::ExpireApiKey
        | Action::ExpireMembership
        | Action::RemoveAuditEvents
        | Action::ExportAuditLog
        | Action::UseApiKey
        | Action::CreateOrganization
        | Action::CreateUser
        | Action::CreateMembership
        | Action::MakeOwner
        | Action::CreateInvitation
        | Action::CreateProject
        | Action::RenameProject
        | Action::RestoreProject
        | Action::AddProjectMember
        | Action::SignIn
        | Action::EnableKeyManagement
        | Action::LimitAttempts
        | Action::CreateApiKey
        | Action::CreateRestrictedApiKey
        | Action::EditApiKey
        | Action::Other(_) => false,
    }
}

/// As an export writes it, as far as it matters.
fn line(action: Action) -> String {
    format!("{{\"audit_events\":{{\"action\":\"{}\"}}}}\n", action.as_str())
}

fn found_by(expression: &str, text: &str) -> String {
    let mut grep = Command::new("grep")
        .args(["-E", expression])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    grep.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(grep.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn documented_grep_finds_exactly_the_actions_undone_by_restore() {
    let (_, command) = DOCUMENTATION.split_once("| grep -E '").unwrap();
    let (expression, rest) = command.split_once('\'').unwrap();
    let rest = rest.lines().next().unwrap();
    assert_eq!(rest, "", "nothing cuts the list off");
    let all: String = Action::ALL.iter().copied().map(line).collect();
    let undone = Action::ALL
        .iter()
        .copied()
        .filter(|action| took_something_away(*action));
    let expected: String = undone.map(line).collect();
    assert_eq!(found_by(expression, &all), expected);
}
