//! A log that does not belong to the database, or is not all of it.

use super::lost::Lost;
use super::{back_up, considered, repeat, status};
use crate::place::Place;

const WITHIN_THIS_DATABASE: &str = "error: this database has everything that the log has, so there is nothing to repeat: \
    set --data-dir or KEYWARD_DATABASE_URL to the restored database, and redirect the log of the one that was lost, up to \
    its end\n";

fn administer(place: &Place, arguments: &[&str]) -> String {
    let answer = place.keyward(&[&["admin"], arguments].concat()).run();
    answer.success()
}

#[test]
fn log_of_another_installation_is_refused() {
    let lost = Lost::set_up(Place::file("wrong-log-lost"));
    lost.remove_access();
    let log = lost.log();
    let other = Place::file("wrong-log-other");
    other.bootstrap();
    let empty = Place::file("wrong-log-empty");
    empty.keyward(&["migrate"]).run().success();
    for place in [other, empty] {
        let answer = repeat(&place, &log);
        let refusal = "error: this database has nothing that the log is about, so nothing was changed: set --data-dir or \
            KEYWARD_DATABASE_URL to the restored database, and redirect the log of the one that was lost\n";
        assert_eq!(answer.errors, considered(&log) + refusal);
        assert_eq!(answer.code, Some(1));
    }
}

#[test]
fn log_without_those_of_organizations_is_refused() {
    let lost = Lost::set_up(Place::file("wrong-log-installation"));
    let restored = Place::file("wrong-log-installation-restored");
    back_up(&lost.place, &restored);
    lost.remove_access();
    let log = administer(&lost.place, &["audit-log"]);
    assert!(log.contains("user.reset_password"));
    assert_eq!(
        repeat(&restored, &log).refusal(),
        "standard input has only the installation's own log, so nothing was changed: redirect a file from `keyward admin \
         audit-log --after start --all` to it"
    );
}

#[test]
fn log_that_was_printed_from_this_database_is_refused() {
    let lost = Lost::set_up(Place::file("wrong-log-same"));
    lost.remove_access();
    let organizations = administer(&lost.place, &["audit-log", "--organization=acme-sons"]);
    for log in [lost.log(), organizations] {
        let answer = repeat(&lost.place, &log);
        assert_eq!(answer.errors, considered(&log) + WITHIN_THIS_DATABASE);
        assert_eq!(answer.code, Some(1));
    }
    let server = lost.place.serve(&[]);
    let keys = [&lost.revoked, &lost.kept];
    assert_eq!(keys.map(|bearer| status(&server, bearer)), [401, 200]);
}

/// A log of `--follow` contains the event of its own start, which is the last one if nothing else happens.
#[test]
fn followed_log_that_ends_within_this_database_is_refused() {
    let lost = Lost::set_up(Place::file("wrong-log-short"));
    lost.log();
    let quiet = Place::file("wrong-log-short-quiet");
    back_up(&lost.place, &quiet);
    let log_of_quiet = lost.log();
    for member in ["bob", "dora"] {
        let member = format!("--username={member}");
        administer(
            &lost.place,
            &["remove-member", "--organization=acme-sons", &member],
        );
    }
    let later = Place::file("wrong-log-short-later");
    back_up(&lost.place, &later);
    let log = lost.log();
    let ends_before_backup: String = log.split_inclusive('\n').take(log.lines().count() - 1).collect();
    for (place, log) in [(later, ends_before_backup), (quiet, log_of_quiet)] {
        let answer = repeat(&place, &log);
        assert_eq!(answer.errors, considered(&log) + WITHIN_THIS_DATABASE);
        assert_eq!(answer.code, Some(1));
    }
}

/// These runs leave nothing for people to repeat, so each succeeds.
#[test]
fn later_organization_second_run_and_quiet_time_are_no_errors() {
    let lost = Lost::set_up(Place::file("right-log-lost"));
    let restored = Place::file("right-log-restored");
    back_up(&lost.place, &restored);
    let quiet = repeat(&restored, &lost.log());
    assert!(
        quiet
            .errors
            .ends_with("The log has no change that can be repeated.\n"),
        "{quiet:?}"
    );
    quiet.success();
    let remove = ["remove-member", "--organization=acme-sons", "--username=dora"];
    administer(&lost.place, &remove);
    let log = lost.log();
    let ended = |log: &str, outcome| {
        let answer = repeat(&restored, log);
        let ended = format!("Memberships ended: {outcome}, 0 left\n");
        assert!(answer.errors.ends_with(&ended), "{answer:?}");
        answer.success();
    };
    ended(&log, "1 repeated, 0 already so, 0 not in this database");
    let again = "0 repeated, 1 already so, 0 not in this database";
    ended(&log, again);
    // The log of the restored database may have been appended to the same file.
    let of_restored = administer(&restored, &["audit-log", "--after=start", "--all"]);
    ended(&(log + &of_restored), again);
    administer(
        &lost.place,
        &["create-organization", "--name=Beta", "--owner=bob"],
    );
    let later = ["--organization=beta", "--username=eve"];
    administer(
        &lost.place,
        &[&["create-user", "--generate-password"], &later[..]].concat(),
    );
    administer(&lost.place, &[&["remove-member"], &later[..]].concat());
    ended(&lost.log(), "0 repeated, 1 already so, 1 not in this database");
}
