use std::time::Duration;

use super::{Act, Moment, Outcome, Request, Trouble, Violation, judged_after_revocation, violations};

const UNAVAILABLE: Outcome = Outcome::Failed { says_when: true };

const fn at(milliseconds: u64) -> Moment {
    Duration::from_millis(milliseconds)
}

/// A verification of key 7.
const fn verified(server: usize, begin: u64, end: u64, outcome: Outcome) -> Request {
    request(server, Act::Verify, begin, end, outcome)
}

const fn revoked(server: usize, begin: u64, end: u64, outcome: Outcome) -> Request {
    request(server, Act::Revoke, begin, end, outcome)
}

const fn request(server: usize, act: Act, begin: u64, end: u64, outcome: Outcome) -> Request {
    Request {
        server,
        key: 7,
        act,
        begin: at(begin),
        end: at(end),
        outcome,
    }
}

fn found(requests: &[Request]) -> Vec<Violation> {
    violations(requests, &[])
}

#[test]
fn verification_accepted_after_an_answered_revocation_is_wrong() {
    let late = verified(2, 21, 23, Outcome::Ok);
    let history = [revoked(0, 10, 20, Outcome::Ok), late];
    assert_eq!(
        found(&history),
        [Violation::AcceptedAfterRevocation(late, at(20))]
    );
}

#[test]
fn verification_accepted_much_later_on_any_server_is_wrong() {
    for server in 0..3 {
        let history = [
            revoked(0, 10, 20, Outcome::Ok),
            verified(1, 30, 31, Outcome::Refused),
            verified(server, 90_000, 90_001, Outcome::Ok),
        ];
        assert_eq!(found(&history).len(), 1, "server {server}");
    }
}

#[test]
fn verification_that_overlaps_the_revocation_may_be_answered_either_way() {
    for outcome in [Outcome::Ok, Outcome::Refused] {
        for (begin, end) in [(5, 11), (5, 30), (12, 14), (15, 30), (20, 30)] {
            let history = [revoked(0, 10, 20, Outcome::Ok), verified(1, begin, end, outcome)];
            assert_eq!(found(&history), [], "{begin} to {end}, {outcome:?}");
        }
    }
}

#[test]
fn refusal_before_a_revocation_is_wrong() {
    let early = verified(1, 5, 9, Outcome::Refused);
    assert_eq!(found(&[early]), [Violation::ValidKeyRefused(early)]);
    let history = [early, revoked(0, 10, 20, Outcome::Ok)];
    assert_eq!(found(&history), [Violation::ValidKeyRefused(early)]);
}

#[test]
fn revocation_without_a_known_outcome_may_have_happened_or_not() {
    for lost in [Outcome::Unknown, UNAVAILABLE] {
        let trouble = Trouble {
            servers: &[0],
            act: Act::Revoke,
            from: at(0),
            until: at(100),
        };
        let history = [
            revoked(0, 10, 20, lost),
            verified(0, 30, 31, Outcome::Ok),
            verified(1, 32, 33, Outcome::Refused),
            verified(2, 34, 35, Outcome::Ok),
        ];
        assert_eq!(violations(&history, &[trouble]), [], "{lost:?}");
    }
}

#[test]
fn second_revocation_that_is_answered_counts_after_a_lost_one() {
    let late = verified(1, 60, 61, Outcome::Ok);
    let history = [
        revoked(0, 40, 50, Outcome::Ok),
        verified(1, 30, 31, Outcome::Refused),
        revoked(0, 10, 20, UNAVAILABLE),
        late,
    ];
    let trouble = Trouble {
        servers: &[0],
        act: Act::Revoke,
        from: at(0),
        until: at(25),
    };
    let wrong = violations(&history, &[trouble]);
    assert_eq!(wrong, [Violation::AcceptedAfterRevocation(late, at(50))]);
}

#[test]
fn failure_is_allowed_on_troubled_servers_during_the_trouble_only() {
    let trouble = Trouble {
        servers: &[1, 2],
        act: Act::Verify,
        from: at(100),
        until: at(200),
    };
    for outcome in [UNAVAILABLE, Outcome::Unknown] {
        for (allowed, server, begin, end) in [
            (true, 1, 110, 120),
            (true, 2, 90, 101),
            (true, 1, 199, 2_000),
            (false, 0, 110, 120),
            (false, 1, 200, 201),
            (false, 2, 90, 99),
        ] {
            let failed = verified(server, begin, end, outcome);
            let wrong = violations(&[failed], &[trouble]);
            assert_eq!(wrong.is_empty(), allowed, "{failed}");
        }
    }
    assert_eq!(
        violations(&[revoked(1, 110, 120, UNAVAILABLE)], &[trouble]).len(),
        1,
        "the trouble is of verifications"
    );
}

#[test]
fn unavailable_server_must_say_when_to_ask_again() {
    let trouble = Trouble {
        servers: &[0],
        act: Act::Verify,
        from: at(0),
        until: at(100),
    };
    let silent = verified(0, 10, 20, Outcome::Failed { says_when: false });
    let wrong = violations(&[silent], &[trouble]);
    assert_eq!(wrong, [Violation::FailedWithoutAdvice(silent)]);
}

#[test]
fn unexpected_status_is_a_violation() {
    for strange in [
        verified(0, 10, 20, Outcome::Other(500)),
        revoked(0, 10, 20, Outcome::Other(404)),
    ] {
        assert_eq!(found(&[strange]), [Violation::UnexpectedStatus(strange)]);
    }
}

#[test]
fn only_answered_verifications_after_the_answer_count_as_judged() {
    let history = [
        revoked(0, 10, 20, Outcome::Ok),
        verified(1, 15, 30, Outcome::Refused),
        verified(1, 21, 30, UNAVAILABLE),
        verified(1, 22, 30, Outcome::Refused),
        verified(1, 23, 30, Outcome::Ok),
    ];
    assert_eq!(judged_after_revocation(&history, 1), 2);
    assert_eq!(judged_after_revocation(&history, 0), 0);
}
