//! A backup is restored, and later removals of access are repeated from the audit log.

mod by_hand;
mod full_disk;
mod lost;
mod recipe;
mod refused_lines;
mod wrong_log;

use serde_json::Value;

use self::lost::Lost;
use crate::browser::sign_in;
use crate::keyward::Answer;
use crate::place::Place;
use crate::server::Server;
use crate::setup::PASSWORD;

fn repeat(place: &Place, log: &str) -> Answer {
    place.keyward(&["admin", "repeat-revocations"]).input(log).run()
}

/// The first line of the command's report, if it considers all events of the log.
fn considered(log: &str) -> String {
    let events = log.lines().count();
    format!("Events considered: {events} of {events}\n")
}

fn back_up(place: &Place, copy: &Place) {
    copy.import(&place.export()).success();
}

fn status(server: &Server, bearer: &str) -> u16 {
    server.ask("GET", "/api/v1/user", &[bearer], "").status
}

/// The actions of the command line in the organization, oldest first.
fn acts(place: &Place) -> Vec<String> {
    let log = place.keyward(&["admin", "audit-log", "--organization=acme-sons"]);
    let log = log.run().success();
    let events = log.lines().rev().map(|line| serde_json::from_str(line).unwrap());
    let by_administrator = events.filter(|event: &Value| event["actor"]["kind"] == "administrator");
    let acts = by_administrator.map(|event| event["action"].as_str().unwrap().to_owned());
    acts.filter(|action| action != "audit_log.export").collect()
}

/// The same on both databases; a log of one is repeated in the other.
#[tokio::test]
async fn access_removed_after_the_backup_is_removed_again() {
    for (original, restored) in [
        (Place::file("removed-again-lost"), Place::server().await),
        (Place::server().await, Place::file("removed-again-restored")),
    ] {
        let lost = Lost::set_up(original);
        back_up(&lost.place, &restored);
        let done_before = acts(&restored).len();
        lost.remove_access();

        let log = lost.log();
        let answer = repeat(&restored, &log);
        let reset_password = restored.printed("admin reset-password");
        assert_eq!(
            answer.errors,
            considered(&log)
                + &format!(
                    "API keys revoked: 1 repeated, 0 already so, 1 not in this database, 0 left\n\
             Memberships ended: 1 repeated, 0 already so, 0 not in this database, 0 left\n\
             Owners made members: 1 repeated, 0 already so, 0 not in this database, 0 left\n\
             Invitations closed: 2 repeated, 0 already so, 0 not in this database, 0 left\n\
             Projects archived: 1 repeated, 0 already so, 0 not in this database, 0 left\n\
             Members removed from projects: 1 repeated, 0 already so, 0 not in this database, 0 left\n\
             By hand: passwords were changed or reset: bob. Run `{reset_password} --generate-password \
             --username NAME` for each, which also ends their sessions\n\
             By hand: sessions were ended: ada. Run `{reset_password} --generate-password --username NAME` \
             for each, or have each end other sessions in the console\n\
             error: changes are left to repeat: see above\n"
                )
        );
        assert_eq!(answer.code, Some(1));
        assert_eq!(
            acts(&restored)[done_before..],
            [
                "api_key.revoke",
                "membership.remove",
                "invitation.revoke",
                "invitation.revoke",
                "membership.make_member",
                "project.remove_member",
                "project.archive",
            ]
        );

        let server = restored.serve(&[]);
        let keys = [&lost.revoked, &lost.kept];
        assert_eq!(keys.map(|bearer| status(&server, bearer)), [401, 200]);

        let reversed: String = log.lines().rev().map(|line| format!("{line}\n")).collect();
        let again = repeat(&restored, &reversed);
        assert!(
            again.errors.contains(
                "API keys revoked: 0 repeated, 1 already so, 1 not in this database, 0 left\n\
                 Memberships ended: 0 repeated, 1 already so, 0 not in this database, 0 left\n\
                 Owners made members: 0 repeated, 1 already so, 0 not in this database, 0 left\n\
                 Invitations closed: 0 repeated, 2 already so, 0 not in this database, 0 left\n\
                 Projects archived: 0 repeated, 1 already so, 0 not in this database, 0 left\n\
                 Members removed from projects: 0 repeated, 1 already so, 0 not in this database, 0 left\n"
            ),
            "{}",
            again.errors
        );
        assert_eq!(acts(&restored).len(), done_before + 7, "nothing was done twice");
    }
}

/// Logs of single organizations, whose lines do not name them.
#[tokio::test]
async fn refused_change_leaves_other_organizations_and_changes_going() {
    let lost = Lost::set_up(Place::file("refused-lost"));
    let restored = Place::file("refused-restored");
    let administer = |place: &Place, arguments: &[&str]| {
        let answer = place.keyward(&[&["admin"], arguments].concat()).run();
        answer.success()
    };
    administer(
        &lost.place,
        &["create-organization", "--name=Beta", "--owner=bob"],
    );
    back_up(&lost.place, &restored);
    // In each organization, an owner of after the backup takes the place of those of before, and ada's
    // invitations end with her.
    let owner = ["--role=owner", "--generate-password"];
    for (organization, username) in [("acme-sons", "eve"), ("beta", "fay")] {
        let organization = format!("--organization={organization}");
        let username = format!("--username={username}");
        administer(
            &lost.place,
            &[&["create-user", &organization, &username], &owner[..]].concat(),
        );
    }
    for (organization, username) in [("acme-sons", "carl"), ("acme-sons", "ada"), ("beta", "bob")] {
        let organization = format!("--organization={organization}");
        let username = format!("--username={username}");
        administer(&lost.place, &["remove-member", &organization, &username]);
    }
    let logs = ["beta", "acme-sons"].map(|organization| {
        let organization = format!("--organization={organization}");
        administer(&lost.place, &["audit-log", &organization])
    });
    let log = logs.concat();
    let answer = repeat(&restored, &log);
    let reason = "an organization needs an owner whose membership has no planned end: make someone else an owner first";
    assert_eq!(
        answer.errors,
        format!(
            "{}Not repeated in acme-sons: Memberships ended (ada): {reason}\n\
             Not repeated in beta: Memberships ended (bob): {reason}\n\
             Memberships ended: 1 repeated, 0 already so, 0 not in this database, 2 left\n\
             Invitations closed: 2 repeated, 0 already so, 0 not in this database, 0 left\n\
             error: changes are left to repeat: see above\n",
            considered(&log)
        )
    );
    assert_eq!(answer.code, Some(1));
    let server = restored.serve(&[]);
    assert_eq!(sign_in(&server, "ada", PASSWORD).status, 303);
}
